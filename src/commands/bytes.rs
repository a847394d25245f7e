//! How amounts of bytes are written for people; `testdata/bytes.json` has the cases, to which the page is held, too.

/// `16.7 MB`: in decimal units, as disks are sold.
pub(super) fn bytes_text(bytes: u64) -> String {
    let mut amount = bytes as f64;
    let mut unit = "B";
    for next in ["kB", "MB", "GB", "TB", "PB"] {
        if amount < if unit == "B" { 999.5 } else { 999.95 } {
            break;
        }
        amount /= 1e3;
        unit = next;
    }
    match unit {
        "B" => format!("{amount:.0} B"),
        unit if amount < 9.995 => format!("{:.2} {unit}", (amount * 1e2).round() / 1e2),
        unit => format!("{:.1} {unit}", (amount * 1e1).round() / 1e1),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_have_three_digits_or_four_and_the_unit_of_each_thousand() {
        let file: serde_json::Value = serde_json::from_str(include_str!("../../testdata/bytes.json")).unwrap();
        let cases = file["cases"].as_array().unwrap();
        assert!(cases.len() > 10);
        for case in cases {
            assert_eq!(bytes_text(case[0].as_u64().unwrap()), case[1].as_str().unwrap(), "{}", case[0]);
        }
    }
}
