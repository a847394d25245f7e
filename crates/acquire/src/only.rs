//! The fields that are recorded of structures: those that the rules of a PV name, with its alarm and its time stamp.
//!
//! The server sends all of them: it sends what changes anyway, and one that does not know of selections would have to be told apart.

use archive::{FieldPath, Rules};
use epics::pva::Fewer;
use sample::Value;

/// These say when a structure is of and how good it is, and always stay.
const ALWAYS: [&str; 2] = ["alarm", "timeStamp"];

/// What is recorded of the structures of one PV.
#[derive(Debug)]
pub(crate) struct Only {
    paths: Vec<FieldPath>,
    /// For structures of the type that came last.
    fewer: Option<Fewer>,
    /// Which of the paths lead to nothing in the value that came last.
    lacking: Vec<FieldPath>,
}

impl Only {
    /// None if everything is recorded, as of nearly all PVs.
    pub(crate) fn of(rules: &Rules) -> Option<Box<Only>> {
        let only = || Only { paths: rules.only.clone(), fewer: None, lacking: Vec::new() };
        (!rules.only.is_empty()).then(|| Box::new(only()))
    }

    /// Leaves the other fields out of a value. One that is no structure stays as it is.
    pub(crate) fn apply(&mut self, value: &mut Value) {
        let Value::Structure(bytes) = value else {
            self.lacking.clone_from(&self.paths);
            return;
        };
        if !self.fewer.as_ref().is_some_and(|fewer| fewer.describes(bytes)) {
            self.lacking.clone_from(&self.paths);
            self.fewer = Fewer::of(bytes, |path| {
                self.lacking.retain(|wanted| !wanted.holds(path));
                let top = path.split('.').next().unwrap_or_default();
                ALWAYS.contains(&top) || self.paths.iter().any(|wanted| wanted.holds(path))
            });
        }
        let left = self.fewer.as_ref().filter(|fewer| !fewer.left_out().is_empty());
        if let Some(left) = left.and_then(|fewer| fewer.apply(bytes)) {
            *bytes = left.into();
        }
    }

    /// The fields that are wanted and that the newest value does not have.
    pub(crate) fn lacking(&self) -> &[FieldPath] {
        &self.lacking
    }
}

#[cfg(test)]
mod tests {
    use epics::pva::{Data, Scalar, Tree, Type, decode_structure, wire};

    use super::*;

    fn structure() -> Value {
        let number = || Type::Scalar(Scalar::F64);
        let part = |names: [&'static str; 2]| Type::structure("", names.map(|name| (name, number()))).unwrap();
        let fields = [
            ("value", part(["rms", "peak"])),
            ("alarm", part(["severity", "status"])),
            ("timeStamp", part(["secondsPastEpoch", "nanoseconds"])),
            ("other", number()),
        ];
        let pair = |a, b| Tree::Structure(vec![Tree::F64(a), Tree::F64(b)]);
        let trees = vec![pair(1.0, 2.0), pair(3.0, 4.0), pair(5.0, 6.0), Tree::F64(7.0)];
        let mut writer = wire::Writer::new(wire::Order::Little);
        let data = Data { ty: Type::structure("lab", fields).unwrap(), value: Tree::Structure(trees) };
        data.encode(&mut writer).unwrap();
        Value::Structure(writer.into_bytes().into())
    }

    fn applied(paths: &[&str]) -> (String, Vec<String>) {
        let only = paths.iter().map(|path| FieldPath::new(path).unwrap()).collect();
        let mut only = Only::of(&Rules { only, ..Rules::default() }).unwrap();
        let mut value = structure();
        only.apply(&mut value);
        only.apply(&mut value); // what is left of one type is of another
        only.apply(&mut structure());
        let Value::Structure(bytes) = value else { panic!("it was a structure") };
        let lacking = only.lacking().iter().map(|path| path.as_str().to_owned()).collect();
        (decode_structure(&bytes).unwrap().ty.to_string(), lacking)
    }

    #[test]
    fn named_fields_stay_with_alarm_and_time_and_what_is_not_there_is_told() {
        let company = "alarm: {severity: double, status: double}, \
                       timeStamp: {secondsPastEpoch: double, nanoseconds: double}";
        assert_eq!(applied(&["value.rms"]), (format!("lab{{value: {{rms: double}}, {company}}}"), vec![]));
        let both = format!("lab{{value: {{rms: double, peak: double}}, {company}}}");
        assert_eq!(applied(&["value", "values"]), (both, vec!["values".to_owned()]));
        assert_eq!(applied(&["value.rmz"]), (format!("lab{{{company}}}"), vec!["value.rmz".to_owned()]));
    }

    #[test]
    fn a_value_that_is_no_structure_stays_and_lacks_all_fields() {
        let only = vec![FieldPath::new("value.rms").unwrap()];
        let mut only = Only::of(&Rules { only, ..Rules::default() }).unwrap();
        let mut number = Value::F64(1.0);
        only.apply(&mut number);
        assert_eq!((number, only.lacking().len()), (Value::F64(1.0), 1));
        only.apply(&mut structure());
        assert_eq!(only.lacking(), []);
        assert!(Only::of(&Rules::default()).is_none());
    }
}
