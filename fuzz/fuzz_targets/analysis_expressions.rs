//! Any text as an expression over PVs, bound to PVs of every kind: no panic, and what is refused is told with its place.

#![no_main]

use analysis::{Expression, Fault, Known, Units};
use archive::PvId;
use libfuzzer_sys::fuzz_target;
use sample::{Element, Timestamp, ValueType};

fuzz_target!(|data: &[u8]| {
    let Ok(text) = std::str::from_utf8(data) else { return };
    let told = |fault: &Fault| {
        assert!(fault.place.at <= text.len() && fault.place.character <= text.chars().count() + 1, "{fault}");
        assert!(!fault.to_string().is_empty());
    };
    match Expression::parse(text) {
        Err(fault) => told(&fault),
        Ok(expression) => {
            // What a PV is follows from the length of its name; some are not there.
            let find = &mut |name: &str| -> Result<Option<Known>, Fault> {
                let kinds = [ValueType::scalar(Element::F64), ValueType::scalar(Element::Enum), ValueType::array(Element::F32)];
                let known = Known {
                    series: PvId(name.len() as u32).into(),
                    value_type: kinds.get(name.len() % 4).copied(),
                    units: (name.len() % 3 == 0).then(|| name.to_owned()),
                    labels: vec![(Timestamp::from_nanos(0), vec!["OFF".to_owned(), "ON".to_owned()])],
                };
                Ok((name.len() % 5 != 0).then_some(known))
            };
            if let Err(fault) = expression.bind(Units::Same, find, |fault| fault) {
                told(&fault);
            }
        }
    }
});
