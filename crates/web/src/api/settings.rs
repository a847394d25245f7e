//! The settings of PVs as JSON: what somebody asks for, and what is asked of a PV. The table of settings says what each is.

use std::fmt;

use archive::{
    PvSettings, RuleName,
    settings::{Given, Givens, Shape, Written},
};
use serde::{
    Deserialize, Deserializer,
    de::{DeserializeSeed, Error as _, MapAccess, Visitor},
};
use serde_json::{Map, Value};

use crate::bodies::{Few, Loose};

/// What is asked for a PV. What is left out comes from a policy.
#[derive(Default)]
pub(crate) struct Asked {
    pub(crate) name: String,
    pub(crate) policy: Option<String>,
    pub(crate) settings: Givens,
}

impl<'de> Deserialize<'de> for Asked {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Asked, D::Error> {
        deserializer.deserialize_map(OfAsked)
    }
}

struct OfAsked;

impl<'de> Visitor<'de> for OfAsked {
    type Value = Asked;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a PV and its settings")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Asked, A::Error> {
        let (mut name, mut policy, mut settings) = (None, None, Givens::default());
        while let Some(key) = map.next_key::<String>()? {
            let twice = || A::Error::custom(format!("{key} comes twice"));
            match (key.as_str(), Written::Request.key(&key)) {
                ("name", _) if name.is_none() => name = Some(map.next_value()?),
                ("policy", _) if policy.is_none() => policy = Some(map.next_value()?),
                (_, Some(key)) if !settings.has(key) => settings.put(key, map.next_value_seed(Read(&key.shape))?),
                ("name" | "policy", _) | (_, Some(_)) => return Err(twice()),
                _ => return Err(A::Error::custom(format!("{key} is no setting"))),
            }
        }
        let name = name.ok_or_else(|| A::Error::missing_field("name"))?;
        Ok(Asked { name, policy: policy.flatten(), settings })
    }
}

/// Reads what may stand under a key; null says nothing.
struct Read(&'static Shape);

impl<'de> DeserializeSeed<'de> for Read {
    type Value = Given;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Given, D::Error> {
        let given = match self.0 {
            Shape::Switch => Option::deserialize(deserializer)?.map(Given::Switch),
            Shape::Number | Shape::Within(..) => Option::deserialize(deserializer)?.map(Given::Number),
            Shape::Count { max, .. } => match Option::deserialize(deserializer)? {
                Some(count) if count > *max => return Err(D::Error::custom(format!("{count} is too much"))),
                count => count.map(Given::Count),
            },
            Shape::Text | Shape::Word(_) => Option::deserialize(deserializer)?.map(Given::Text),
            Shape::Texts => Option::deserialize(deserializer)?.map(|Few(texts)| Given::Texts(texts)),
            Shape::NumberOrText => Option::deserialize(deserializer)?.map(|written| match written {
                Loose::Number(number) => Given::Number(number),
                Loose::Text(text) => Given::Text(text),
            }),
            Shape::Rate | Shape::Members(_) | Shape::Maybe(_) => return Err(D::Error::custom("no request has this")),
        };
        Ok(given.unwrap_or(Given::Nothing))
    }
}

/// What is asked of the sampling of a PV, member by member.
pub(crate) fn sampling(settings: &PvSettings, deadband_at_server: Option<bool>) -> Value {
    let rules = settings.rules();
    let mut sampling: Map<String, Value> =
        rules.shown().into_iter().map(|(name, given)| (name.to_owned(), as_json(given))).collect();
    let origin = &rules.origin;
    let deadband_at = deadband_at_server.map(|at_server| if at_server { "server" } else { "archiver" });
    sampling.insert("policy".to_owned(), origin.policy.as_ref().map(RuleName::as_str).into());
    sampling.insert("by_hand".to_owned(), origin.sampling_by_hand.into());
    sampling.insert("deadband_at".to_owned(), deadband_at.into());
    sampling.insert("is_field".to_owned(), rules.is_field.into());
    sampling.into()
}

fn as_json(given: Given) -> Value {
    match given {
        Given::Nothing => Value::Null,
        Given::Switch(is_on) => is_on.into(),
        Given::Number(number) => number.into(),
        Given::Count(count) => count.into(),
        Given::Text(text) => text.into(),
        Given::Texts(texts) => texts.into(),
        Given::Burst { rate, burst } => Value::from_iter([("rate", as_json(*rate)), ("burst", burst.into())]),
        Given::Members(members) => members.into_iter().map(|(name, given)| (name.to_owned(), as_json(given))).collect(),
    }
}
