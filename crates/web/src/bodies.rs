//! Bodies in JSON: read value by value, so that none of a long list is kept, and forgiving where clients send numbers as texts.

use std::fmt;

use serde::{
    Deserialize,
    de::{DeserializeOwned, DeserializeSeed, Deserializer, SeqAccess, Visitor},
};

use crate::refusal::{Code, Refusal};

/// Reads a JSON list value by value, none of which is kept: `act` is called with each.
pub(crate) fn each<T: DeserializeOwned>(
    body: &[u8],
    what: &str,
    mut act: impl FnMut(T) -> Result<(), Refusal>,
) -> Result<(), Refusal> {
    let mut refusal = None;
    let mut reader = serde_json::Deserializer::from_slice(body);
    let mut keep = |value| act(value).map_err(|why| refusal = Some(why));
    let read = Each { act: &mut keep, value: std::marker::PhantomData }.deserialize(&mut reader);
    let read = read.and_then(|()| reader.end());
    match (read, refusal) {
        (_, Some(refusal)) => Err(refusal),
        (Err(error), None) => Err(Refusal::new(Code::BadRequest, format!("the body is not a list of {what}: {error}"))),
        (Ok(()), None) => Ok(()),
    }
}

struct Each<'a, T, F> {
    act: &'a mut F,
    value: std::marker::PhantomData<T>,
}

impl<'de, T: DeserializeOwned, F: FnMut(T) -> Result<(), ()>> DeserializeSeed<'de> for Each<'_, T, F> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_seq(self)
    }
}

impl<'de, T: DeserializeOwned, F: FnMut(T) -> Result<(), ()>> Visitor<'de> for Each<'_, T, F> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a list")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<(), A::Error> {
        while let Some(value) = list.next_element()? {
            (self.act)(value).map_err(|()| serde::de::Error::custom("it is refused"))?;
        }
        Ok(())
    }
}

/// A JSON value without parts. Others are refused as soon as they begin, so that none is held.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum JsonScalar {
    Flag(bool),
    Number(f64),
    Text(String),
    Nothing,
}

impl<'de> Deserialize<'de> for JsonScalar {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<JsonScalar, D::Error> {
        struct OfScalar;

        impl Visitor<'_> for OfScalar {
            type Value = JsonScalar;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a number or a text")
            }

            fn visit_bool<E>(self, flag: bool) -> Result<JsonScalar, E> {
                Ok(JsonScalar::Flag(flag))
            }

            fn visit_i64<E>(self, number: i64) -> Result<JsonScalar, E> {
                Ok(JsonScalar::Number(number as f64))
            }

            fn visit_u64<E>(self, number: u64) -> Result<JsonScalar, E> {
                Ok(JsonScalar::Number(number as f64))
            }

            fn visit_f64<E>(self, number: f64) -> Result<JsonScalar, E> {
                Ok(JsonScalar::Number(number))
            }

            fn visit_str<E>(self, text: &str) -> Result<JsonScalar, E> {
                Ok(JsonScalar::Text(text.to_owned()))
            }

            fn visit_unit<E>(self) -> Result<JsonScalar, E> {
                Ok(JsonScalar::Nothing)
            }
        }

        deserializer.deserialize_any(OfScalar)
    }
}

/// A number, or a text, which may hold one: clients send either.
#[derive(Deserialize)]
#[serde(try_from = "JsonScalar")]
pub(crate) enum Loose {
    Number(f64),
    Text(String),
}

impl TryFrom<JsonScalar> for Loose {
    type Error = &'static str;

    fn try_from(said: JsonScalar) -> Result<Loose, &'static str> {
        match said {
            JsonScalar::Number(number) => Ok(Loose::Number(number)),
            JsonScalar::Text(text) => Ok(Loose::Text(text)),
            JsonScalar::Flag(_) | JsonScalar::Nothing => Err("expected a number or a text"),
        }
    }
}

impl Loose {
    pub(crate) fn number(&self) -> Option<f64> {
        match self {
            Loose::Number(number) => Some(*number),
            Loose::Text(text) => text.parse().ok(),
        }
    }
}

/// A list that is short by its nature, such as that of the fields of a record.
#[derive(Debug)]
pub(crate) struct Few<T>(pub(crate) Vec<T>);

/// So many are few.
const FEW_MAX: usize = 1000;

impl<'de, T: DeserializeOwned> Deserialize<'de> for Few<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Few<T>, D::Error> {
        let mut few = Vec::new();
        let mut add = |value| {
            few.push(value);
            if few.len() > FEW_MAX { Err(()) } else { Ok(()) }
        };
        Each { act: &mut add, value: std::marker::PhantomData }.deserialize(deserializer)?;
        Ok(Few(few))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_is_read_value_by_value_and_ends_where_one_is_refused() {
        let mut sum = 0;
        let mut add = |number: u32| {
            sum += number;
            if number == 3 { Err(Refusal::busy("three")) } else { Ok(()) }
        };
        each(b"[1, 2]", "numbers", &mut add).unwrap();
        assert_eq!(each(b"[1, 3, 5]", "numbers", &mut add).unwrap_err().message(), "three");
        for wrong in [&b"[1, 2"[..], b"[1] x", b"{}", b"1", b""] {
            let refusal = each(wrong, "numbers", |_: u32| Ok(())).unwrap_err();
            assert!(refusal.message().starts_with("the body is not a list of numbers"), "{refusal}");
        }
        assert_eq!(sum, 7);
    }

    #[test]
    fn what_has_parts_is_no_scalar_and_a_short_list_is_short() {
        let scalar = |text: &str| serde_json::from_str::<JsonScalar>(text).ok();
        assert_eq!(scalar("-1"), Some(JsonScalar::Number(-1.0)));
        assert_eq!(scalar("\"a\""), Some(JsonScalar::Text("a".to_owned())));
        assert_eq!((scalar("true"), scalar("null")), (Some(JsonScalar::Flag(true)), Some(JsonScalar::Nothing)));
        assert_eq!((scalar("[1]"), scalar("{}")), (None, None));
        let few = |count| serde_json::from_value::<Few<u32>>(vec![1; count].into()).map(|few| few.0.len()).ok();
        assert_eq!((few(FEW_MAX), few(FEW_MAX + 1)), (Some(FEW_MAX), None));
    }
}
