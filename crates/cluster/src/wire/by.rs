//! Who gives an order, as nodes write it.

use archive::{By, How, Principal, Way};
use minicbor::{Decode, Encode};
use sample::Timestamp;

/// Who gives an order, and when.
#[derive(Debug, PartialEq, Encode, Decode)]
#[cbor(map)]
pub(crate) struct ByWire {
    #[n(0)]
    at: i64,
    #[n(1)]
    who: String,
    #[n(2)]
    how: Option<String>,
    #[n(3)]
    claimed: Option<String>,
    #[n(4)]
    way: Option<(Option<String>, String, String)>,
}

impl From<&By> for ByWire {
    fn from(by: &By) -> ByWire {
        let way = |way: &Way| {
            (way.address.map(|address| address.to_string()), way.listener.to_string(), way.request.to_string())
        };
        ByWire {
            at: by.at.nanos(),
            who: by.who.established().to_owned(),
            how: by.who.how().map(|how| how.name().to_owned()),
            claimed: by.who.claimed().map(str::to_owned),
            way: by.who.way().map(way),
        }
    }
}

impl ByWire {
    pub(crate) fn by(&self) -> Option<By> {
        let way = |(address, listener, request): &(Option<String>, String, String)| {
            let address = address.as_deref().map(str::parse).transpose().ok()?;
            Some(Way { address, listener: listener.as_str().into(), request: request.as_str().into() })
        };
        let way = match &self.way {
            Some(row) => Some(way(row)?),
            None => None,
        };
        let who = match &self.how {
            Some(how) => Principal::recorded(&self.who, How::from_name(how)?, self.claimed.as_deref(), way),
            None => Principal::recorded_alone(&self.who),
        };
        Some(By { who, at: Timestamp::from_nanos(self.at) })
    }
}
