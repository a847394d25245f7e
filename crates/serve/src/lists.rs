//! Lists of PVs that a client sends, as names, globs or both: each is resolved once, without doubles, and not beyond a size.

use std::{
    borrow::Borrow,
    collections::HashSet,
    fmt,
    hash::{Hash, Hasher},
};

use archive::{PvEntry, PvId, PvName};
use serde::{
    Deserialize,
    de::{DeserializeOwned, DeserializeSeed, Deserializer, SeqAccess, Visitor},
};
use store::{Named, Names, Reader};

use crate::{
    call::Call,
    names::{Pattern, is_glob},
    refusal::{Code, Refusal},
};

/// The most names in a list: a facility's largest has 150,000 PVs.
pub(crate) const NAMES_MAX: usize = 250_000;
/// The most globs in a list, as each of them is compared with all names.
pub(crate) const GLOBS_MAX: usize = 100;
/// What a PV takes in a list that is resolved: its name with the place in the list, and the place among those that were seen.
const ITEM_BYTES: usize = 96;

/// A PV as a list means it.
#[derive(Clone, Debug)]
pub(crate) struct Item {
    pub(crate) name: ItemName,
    /// None is called so.
    pub(crate) pv: Option<PvId>,
}

/// By which name it is meant: one of its own, or one that the client has written.
#[derive(Clone, Debug)]
pub(crate) enum ItemName {
    Own(PvName),
    Given(Box<str>),
}

impl ItemName {
    pub(crate) fn as_str(&self) -> &str {
        match self {
            ItemName::Own(name) => name.as_str(),
            ItemName::Given(name) => name,
        }
    }
}

impl fmt::Display for ItemName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl PartialEq for ItemName {
    fn eq(&self, other: &ItemName) -> bool {
        self.as_str() == other.as_str()
    }
}

impl Eq for ItemName {}

impl Hash for ItemName {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.as_str().hash(state);
    }
}

impl Borrow<str> for ItemName {
    fn borrow(&self) -> &str {
        self.as_str()
    }
}

/// Refuses a list that is too long.
pub(crate) fn check_len(count: usize, count_max: usize, what: &str) -> Result<(), Refusal> {
    if count <= count_max {
        return Ok(());
    }
    let message = format!("the list has {count} {what}, at most {count_max} are possible in one request");
    Err(Refusal::new(Code::TooLarge, message).hint("send it in several requests"))
}

/// What a list means, each name once: `find` says whose a name is, and a glob stands for all names and aliases that it fits.
pub(crate) fn resolve(
    call: &Call,
    given: Vec<String>,
    find: impl Fn(&str) -> Option<PvId>,
) -> Result<Vec<Item>, Refusal> {
    check_len(given.len(), NAMES_MAX, "names")?;
    let mut asked: HashSet<&str> = HashSet::with_capacity(given.len());
    let is_news: Vec<bool> = given.iter().map(|name| asked.insert(name)).collect();
    check_len(asked.iter().filter(|name| is_glob(name)).count(), GLOBS_MAX, "globs")?;
    drop(asked);
    call.lease.grow_by(given.len(), ITEM_BYTES)?;
    let names = call.app.reader.names();
    let mut list = List::default();
    for (name, _) in given.into_iter().zip(is_news).filter(|(_, is_news)| *is_news) {
        if is_glob(&name) {
            let found = Pattern::glob(&name, &call.lease)?.among(&names, call)?;
            call.lease.grow_by(found.len(), ITEM_BYTES)?;
            found.into_iter().for_each(|named| list.add(ItemName::Own(named.name.clone()), Some(named.pv)));
        } else {
            let pv = find(&name);
            list.add(ItemName::Given(name.into()), pv);
        }
        if list.items.len() % 1024 == 0 {
            call.go_on()?;
        }
    }
    Ok(list.items)
}

#[derive(Default)]
struct List {
    items: Vec<Item>,
    seen: HashSet<ItemName>,
}

impl List {
    fn add(&mut self, name: ItemName, pv: Option<PvId>) {
        if self.seen.insert(name.clone()) {
            self.items.push(Item { name, pv });
        }
    }
}

/// All names and aliases that a pattern fits, with whose they are.
pub(crate) fn fitting(call: &Call, pattern: &Pattern) -> Result<Vec<Item>, Refusal> {
    let names = call.app.reader.names();
    let found = pattern.among(&names, call)?;
    call.lease.grow_by(found.len(), ITEM_BYTES)?;
    let item = |named: &Named| Item { name: ItemName::Own(named.name.clone()), pv: Some(named.pv) };
    Ok(found.into_iter().map(item).collect())
}

/// All names and aliases as they are now, in order, one after the other.
pub(crate) fn all_names(reader: &Reader) -> impl Iterator<Item = Named> + Send + use<> {
    let (names, mut chunk, mut row): (Names, usize, usize) = (reader.names(), 0, 0);
    std::iter::from_fn(move || {
        loop {
            let rows = names.chunks().get(chunk)?.rows();
            if let Some(named) = rows.get(row) {
                row += 1;
                return Some(named.clone());
            }
            (chunk, row) = (chunk + 1, 0);
        }
    })
}

/// All PVs in the order of their names, some hundred at a time, each as it is when their turn comes.
pub(crate) fn pvs_in_turn(reader: &Reader) -> impl Iterator<Item = Vec<PvEntry>> + Send + use<> {
    let (names, reader, mut chunk) = (reader.names(), reader.clone(), 0);
    std::iter::from_fn(move || {
        let rows = names.chunks().get(chunk)?.rows();
        chunk += 1;
        let entries = reader.entries_of(rows.iter().map(|named| Some(named.pv))).into_iter().zip(rows);
        Some(entries.filter_map(|(entry, named)| entry.filter(|entry| entry.name == named.name)).collect())
    })
}

/// The same one after the other.
pub(crate) fn all_pvs(reader: &Reader) -> impl Iterator<Item = PvEntry> + Send + use<> {
    pvs_in_turn(reader).flatten()
}

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
pub(crate) enum Scalar {
    Flag(bool),
    Number(f64),
    Text(String),
    Nothing,
}

impl<'de> Deserialize<'de> for Scalar {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Scalar, D::Error> {
        struct OfScalar;

        impl Visitor<'_> for OfScalar {
            type Value = Scalar;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a number or a text")
            }

            fn visit_bool<E>(self, flag: bool) -> Result<Scalar, E> {
                Ok(Scalar::Flag(flag))
            }

            fn visit_i64<E>(self, number: i64) -> Result<Scalar, E> {
                Ok(Scalar::Number(number as f64))
            }

            fn visit_u64<E>(self, number: u64) -> Result<Scalar, E> {
                Ok(Scalar::Number(number as f64))
            }

            fn visit_f64<E>(self, number: f64) -> Result<Scalar, E> {
                Ok(Scalar::Number(number))
            }

            fn visit_str<E>(self, text: &str) -> Result<Scalar, E> {
                Ok(Scalar::Text(text.to_owned()))
            }

            fn visit_unit<E>(self) -> Result<Scalar, E> {
                Ok(Scalar::Nothing)
            }
        }

        deserializer.deserialize_any(OfScalar)
    }
}

/// A number, or a text, which may hold one: clients send either.
#[derive(Deserialize)]
#[serde(try_from = "Scalar")]
pub(crate) enum Loose {
    Number(f64),
    Text(String),
}

impl TryFrom<Scalar> for Loose {
    type Error = &'static str;

    fn try_from(said: Scalar) -> Result<Loose, &'static str> {
        match said {
            Scalar::Number(number) => Ok(Loose::Number(number)),
            Scalar::Text(text) => Ok(Loose::Text(text)),
            Scalar::Flag(_) | Scalar::Nothing => Err("expected a number or a text"),
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
        let scalar = |text: &str| serde_json::from_str::<Scalar>(text).ok();
        assert_eq!(scalar("-1"), Some(Scalar::Number(-1.0)));
        assert_eq!(scalar("\"a\""), Some(Scalar::Text("a".to_owned())));
        assert_eq!((scalar("true"), scalar("null")), (Some(Scalar::Flag(true)), Some(Scalar::Nothing)));
        assert_eq!((scalar("[1]"), scalar("{}")), (None, None));
        let few = |count| serde_json::from_value::<Few<u32>>(vec![1; count].into()).map(|few| few.0.len()).ok();
        assert_eq!((few(FEW_MAX), few(FEW_MAX + 1)), (Some(FEW_MAX), None));
    }
}
