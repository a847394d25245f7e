//! Values as JSON text: scalars, and what is made of them.

use sample::{Column, Value};

pub(crate) use super::plain::{Dialect, put_cell, put_f64, put_json, put_known, put_list};
use super::{elements::put_elements, plain::put_scalar, structure};

/// Writes the value at `row`.
pub(crate) fn put(out: &mut Vec<u8>, column: &Column, row: usize, dialect: Dialect) {
    if put_scalar(out, column, row, dialect) {
        return;
    }
    match column {
        Column::Structure(v) => structure::put(out, v.get(row), dialect),
        Column::Array(arrays) => match arrays.elements() {
            Column::Structure(v) => {
                put_list(out, arrays.range(row), |out, index| structure::put(out, v.get(index), dialect));
            }
            elements => put_elements(out, elements, arrays.range(row), dialect),
        },
        _ => unreachable!("scalars were put"),
    }
}

/// One value by itself.
pub(crate) fn as_json(value: &Value) -> serde_json::Value {
    let mut column = Column::new(value.value_type());
    let fits = column.push(value);
    assert!(fits, "the column was made for this type");
    let mut text = Vec::new();
    put(&mut text, &column, 0, Dialect::Exact);
    serde_json::from_slice(&text).expect("it has just been written as JSON")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(column: &Column, dialect: Dialect) -> String {
        let mut out = Vec::new();
        put_list(&mut out, 0..column.len(), |out, row| put(out, column, row, dialect));
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn every_number_survives_a_reader_that_knows_only_floats() {
        let floats = Column::F64(vec![1.0, -0.0, 0.1, 1e300, f64::NAN, f64::INFINITY, f64::NEG_INFINITY]);
        assert_eq!(text(&floats, Dialect::Exact), r#"[1.0,-0.0,0.1,1e+300,"NaN","Infinity","-Infinity"]"#);
        assert_eq!(text(&floats, Dialect::Appliance), "[1.0,-0.0,0.1,1e+300,NaN,Infinity,-Infinity]");
        assert_eq!(text(&floats, Dialect::Viewer), "[1.0,-0.0,0.1,1e+300,null,null,null]");
        let longs = Column::I64(vec![1 << 53, (1 << 53) + 1, i64::MIN]);
        assert_eq!(text(&longs, Dialect::Exact), r#"[9007199254740992,"9007199254740993","-9223372036854775808"]"#);
        assert_eq!(text(&Column::F32(vec![0.1, f32::NAN]), Dialect::Exact), r#"[0.1,"NaN"]"#);
        assert_eq!(text(&Column::U64(vec![u64::MAX]), Dialect::Appliance), "[18446744073709551615]");
    }

    #[test]
    fn texts_are_escaped_and_arrays_nest() {
        assert_eq!(as_json(&Value::String("a\"\n\u{1}µ".into())), serde_json::json!("a\"\n\u{1}µ"));
        let array = Value::Array(Column::F64(vec![1.5, f64::NAN]));
        assert_eq!(as_json(&array), serde_json::json!([1.5, "NaN"]));
        assert_eq!(as_json(&Value::Bool(true)), serde_json::json!(true));
    }
}
