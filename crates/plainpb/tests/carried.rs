//! What the Appliance's files say besides values: their headers beside its configuration, and the fields that samples carry.

mod archives;
mod encode;

use archive::{Carried, Key, PvName, Source};
use archives::{at, range, write};
use encode::{Line, Val, file, header, header_of_array, line};
use plainpb::{PlainPb, TypeInfo};
use sample::{Element, Timestamp, ValueType};

fn pv(name: &str) -> PvName {
    PvName::new(name).unwrap()
}

fn second(second: u32) -> Line {
    Line { second, ..Line::of(Val::Double(f64::from(second))) }
}

/// The header was written with the samples; the configuration is what was so when somebody asked for it last. So the file is believed in
/// all that it says, and the configuration tells the rest.
#[test]
fn a_file_is_believed_where_its_header_and_the_type_info_disagree() {
    let info = r#"{"pvName": "A", "DBRType": "DBR_SCALAR_INT", "elementCount": "1", "units": "V", "precision": "1.0",
        "lowerDisplayLimit": "-5.0", "upperDisplayLimit": "5.0"}"#;
    let folder = tempfile::tempdir().unwrap();
    let said = [("EGU", "mA"), ("PREC", "3"), ("DESC", "beam current"), ("NELM", "24")];
    let arrays = Line { second: 7, ..Line::of(Val::Doubles(vec![1.0, 2.0])) };
    write(folder.path(), "A:2026.pb", &file(&header_of_array(13, "A", 2026, &said, Some(24)), [line(&arrays)]));
    let archive = PlainPb::new(folder.path().to_owned(), TypeInfo::read_all(info).unwrap());
    let (_, metadata) = archive.metadata(Key::Name(&pv("A")), range(0, 100)).unwrap().pop().unwrap();
    assert_eq!((metadata.units.as_deref(), metadata.precision), (Some("mA"), Some(3)));
    assert_eq!((metadata.value_type, metadata.element_count), (Some(ValueType::array(Element::F64)), Some(24)));
    assert_eq!(metadata.description.as_deref(), Some("beam current"));
    assert_eq!(metadata.display.map(|limits| (limits.low, limits.high)), Some((-5.0, 5.0)), "only it says that");
    let headers = archive.headers(Key::Name(&pv("A")), range(0, 100)).unwrap();
    assert_eq!(headers, said.map(|(name, text)| (name.to_owned(), text.to_owned())));
    let before = Timestamp::parse("2025-06-01T00:00:00Z").unwrap();
    let nothing = sample::TimeRange { t0: before, t1: at(0) };
    assert_eq!(archive.headers(Key::Name(&pv("A")), nothing).unwrap(), [], "no file is of that year");
}

/// Whoever reads samples beside must not wait for a field that comes at the end, or never.
#[test]
fn how_far_has_been_looked_is_told_long_before_a_field_is_found() {
    let folder = tempfile::tempdir().unwrap();
    let hihi = vec![("HIHI", "41".to_owned())];
    let lines = (0..100_000).map(|k| match k {
        90_000 => line(&Line { fields: hihi.clone(), is_change: Some(true), ..second(k) }),
        90_001 => line(&Line { fields: hihi.clone(), is_change: Some(false), ..second(k) }),
        k => line(&second(k)),
    });
    write(folder.path(), "A:2026.pb", &file(&header(6, "A", 2026), lines));
    let archive = PlainPb::new(folder.path().to_owned(), []);
    let told: Vec<Carried> =
        archive.carried(Key::Name(&pv("A")), range(0, 200_000), None).map(Result::unwrap).collect();
    assert!(told.is_sorted_by_key(|carried| carried.time), "{told:?}");
    let (looked, carrying): (Vec<_>, Vec<_>) = told.iter().partition(|carried| carried.fields.is_empty());
    assert!(looked[0].time < at(20_000), "the first is {:?}", looked[0]);
    assert!(looked.len() > 5 && looked.iter().all(|looked| looked.time < at(100_000)), "{looked:?}");
    let changes: Vec<_> = carrying.iter().map(|carried| (carried.time, carried.is_change)).collect();
    assert_eq!(changes, [(at(90_000), true), (at(90_001), false)]);
    assert_eq!(archive.gaps(Key::Name(&pv("A")), None, range(0, 200_000)).unwrap(), []);
}
