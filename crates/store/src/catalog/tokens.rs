//! Tokens in the catalogue: what is kept of each, in a table that is made with the first.

use archive::{Action, AuditRecord, By, Right, TokenRow};
use minicbor::{Decode, Encode};
use redb::ReadableTable;
use sample::Timestamp;

use super::{
    audit::put_audit,
    database::Catalog,
    pvs_wire::{ByRow, by, by_row},
    tables::{TOKENS, unreadable},
};
use crate::Error;

#[derive(Encode, Decode)]
#[cbor(map)]
struct Row {
    #[n(0)]
    name: String,
    #[cbor(n(1), with = "minicbor::bytes")]
    hash: [u8; 32],
    #[n(2)]
    right: String,
    #[n(3)]
    pvs: Vec<String>,
    #[n(4)]
    made: ByRow,
    #[n(5)]
    expires: i64,
    #[n(6)]
    used: Option<i64>,
}

impl Catalog {
    /// All tokens in the order of their ids.
    pub(crate) fn tokens(&self) -> Result<Vec<TokenRow>, Error> {
        self.read(|tables| {
            let table = match tables.0.open_table(TOKENS) {
                Ok(table) => table,
                Err(redb::TableError::TableDoesNotExist(_)) => return Ok(Vec::new()),
                Err(error) => return Err(error.into()),
            };
            let mut tokens = Vec::new();
            for row in table.iter()? {
                let (id, bytes) = row?;
                tokens.push(token(id.value(), bytes.value()).ok_or(unreadable("a token"))?);
            }
            Ok(tokens)
        })
    }

    /// Keeps a token.
    pub(crate) fn put_token(&self, token: &TokenRow) -> Result<(), Error> {
        let pvs = token.pvs.join(" ");
        let detail = format!("{} {} {} {pvs} until {}", token.id, token.name, token.right, token.expires);
        let told = AuditRecord { detail, ..AuditRecord::new(Action::TokenMade, &token.made) };
        self.ordered(|| {
            self.write(|transaction| {
                transaction.open_table(TOKENS)?.insert(&*token.id, token_bytes(token).as_slice())?;
                put_audit(transaction, &[told])
            })
        })
    }

    /// Forgets a token. Whether there was one.
    pub(crate) fn remove_token(&self, id: &str, by: &By) -> Result<bool, Error> {
        let Some(token) = self.tokens()?.into_iter().find(|token| &*token.id == id) else { return Ok(false) };
        let detail = format!("{id} {}", token.name);
        let told = AuditRecord { detail, ..AuditRecord::new(Action::TokenRevoked, by) };
        self.ordered(|| {
            self.write(|transaction| {
                let was_there = transaction.open_table(TOKENS)?.remove(id)?.is_some();
                if was_there {
                    put_audit(transaction, &[told])?;
                }
                Ok(was_there)
            })
        })
    }

    /// Notes on which days tokens were used last.
    pub(crate) fn touch_tokens(&self, used: &[(Box<str>, Timestamp)]) -> Result<(), Error> {
        if used.is_empty() {
            return Ok(());
        }
        self.write(|transaction| {
            let mut table = transaction.open_table(TOKENS)?;
            for (id, day) in used {
                let row = table.get(&**id)?.map(|bytes| token(id, bytes.value()).ok_or(unreadable("a token")));
                if let Some(row) = row.transpose()? {
                    let row = TokenRow { used: Some(*day), ..row };
                    table.insert(&**id, token_bytes(&row).as_slice())?;
                }
            }
            Ok(())
        })
    }
}

fn token_bytes(token: &TokenRow) -> Vec<u8> {
    let row = Row {
        name: token.name.to_string(),
        hash: token.hash,
        right: token.right.name().to_owned(),
        pvs: token.pvs.iter().map(ToString::to_string).collect(),
        made: by_row(&token.made),
        expires: token.expires.nanos(),
        used: token.used.map(Timestamp::nanos),
    };
    minicbor::to_vec(&row).expect("writing to memory cannot fail")
}

fn token(id: &str, bytes: &[u8]) -> Option<TokenRow> {
    let row: Row = minicbor::decode(bytes).ok()?;
    Some(TokenRow {
        id: id.into(),
        name: row.name.into(),
        hash: row.hash,
        right: Right::from_name(&row.right)?,
        pvs: row.pvs.into_iter().map(Into::into).collect(),
        made: by(row.made),
        expires: Timestamp::from_nanos(row.expires),
        used: row.used.map(Timestamp::from_nanos),
    })
}
