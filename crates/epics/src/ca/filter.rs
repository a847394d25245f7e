//! The dead band that an IOC applies: a channel filter, which IOCs of 3.15 and later know, asked for in the name of the channel.

/// How far a number must move before the IOC sends it again.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum FilterBand {
    /// By more than this.
    Absolute(f64),
    /// By more than so many percent of the number sent last.
    Percent(f64),
}

impl FilterBand {
    /// The name of the channel with the filter: `PV.{"dbnd":{"abs":1.5}}`, or with a field `PV.HIHI{"dbnd":{"abs":1.5}}`. None
    /// for a name that asks for something else already.
    pub fn name(self, of: &str) -> Option<String> {
        if of.contains(['{', '[', '$', '"']) {
            return None;
        }
        let (mode, width) = match self {
            FilterBand::Absolute(width) => ("abs", width),
            FilterBand::Percent(width) => ("rel", width),
        };
        let point = if of.contains('.') { "" } else { "." };
        // `{width:?}` writes a point or an exponent, so that it is a number with a fraction in JSON too.
        Some(format!("{of}{point}{{\"dbnd\":{{\"{mode}\":{width:?}}}}}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_filter_stands_behind_the_name() {
        assert_eq!(FilterBand::Absolute(1.5).name("A:B").unwrap(), r#"A:B.{"dbnd":{"abs":1.5}}"#);
        assert_eq!(FilterBand::Percent(5.0).name("A:B.HIHI").unwrap(), r#"A:B.HIHI{"dbnd":{"rel":5.0}}"#);
        assert_eq!(FilterBand::Absolute(1.0).name("A:B.VAL$"), None);
        assert_eq!(FilterBand::Absolute(1.0).name(r#"A:B.{"arr":{}}"#), None);
    }
}
