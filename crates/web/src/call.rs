//! A call: one request as its handler sees it, with the PV that many handlers need.

use std::{fmt::Display, str::FromStr, sync::Arc};

use access::{Identity, Refused};
use archive::{ARCHIVER, By, Principal, PvEntry, Way};
use axum::{
    body::Bytes,
    http::{Extensions, HeaderMap, header},
};
use query::Series;
use serde::Serialize;
use service::{Ask, now, shortened};

use crate::{
    app::App,
    auth::{Origin, RequestLine},
    delivery::{
        answer::{self, Answer, CSV, JSON},
        chunk::Chunk,
    },
    door::Door,
    form::{Kind, Sent},
    formats::{
        arrow,
        list::{Frame, json_rows, list},
        table::Table,
    },
    host::Scheme,
    peer::{Client, Peer, RequestNumber},
    refusal::{Code, Refusal},
    slow::{RowCount, Stopwatch},
    url::Params,
};

/// What a row of a table takes more while it is written as Arrow.
const ARROW_ROW_BYTES: usize = 64;

pub(crate) struct Call {
    pub(crate) app: Arc<App>,
    /// What stands in the path for `{pv}` and the like.
    pub(crate) path: Vec<(String, String)>,
    /// The whole path.
    pub(crate) url_path: String,
    pub(crate) query: Params,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Bytes,
    /// By which protocol it came.
    pub(crate) scheme: Scheme,
    /// Who sends it.
    pub(crate) asker: Identity,
    /// The same for the audit.
    pub(crate) principal: Principal,
    /// From where it came.
    pub(crate) origin: Origin,
    /// What is told of it if it is refused.
    pub(crate) asked: Arc<RequestLine>,
    /// What is asked of the service by it.
    pub(crate) ask: Ask,
    /// How long it takes.
    pub(crate) watch: Arc<Stopwatch>,
}

impl Call {
    /// The part of the path that stands for `{name}` in the table of routes.
    pub(crate) fn path_part(&self, name: &str) -> &str {
        self.path.iter().find(|(n, _)| n == name).map_or("", |(_, value)| value)
    }

    /// The number of a `what`, which stands in the path for `{name}`.
    pub(crate) fn path_number<N: FromStr>(&self, name: &str, what: &str) -> Result<N, Refusal> {
        let text = self.path_part(name);
        let refusal = |_| Refusal::new(Code::BadRequest, format!("{:?} is no number of {what}", shortened(text)));
        text.parse().map_err(refusal)
    }

    /// The answer to somebody who is refused.
    pub(crate) fn refused(&self, why: &Refused) -> Answer {
        Ok(self.app.refused(&self.asked, why))
    }

    /// Who gives an order by it, and when.
    pub(crate) fn by(&self) -> By {
        By::new(self.principal.clone(), now())
    }

    /// Under which name the client came, empty if it did not say.
    pub(crate) fn host(&self) -> &str {
        self.headers.get(header::HOST).and_then(|host| host.to_str().ok()).unwrap_or("")
    }

    /// The body, with what it is.
    pub(crate) fn sent(&self) -> Sent<'_> {
        Sent { kind: Kind::of(&self.headers, &self.body), body: &self.body }
    }

    /// The PV that the path names.
    pub(crate) fn pv(&self) -> Result<PvEntry, Refusal> {
        self.ask.pv(self.path_part("pv"))
    }

    /// The PV that the path names, or one field of it if its values are structures: `PV.field.of.field`, or `field=` in the query.
    pub(crate) fn pv_or_field(&self) -> Result<(PvEntry, Series), Refusal> {
        self.ask.series(self.path_part("pv"), self.query.get("field"))
    }

    /// Under which name the archive stands where the Archiver Appliance names its members.
    pub(crate) fn identity(&self) -> &str {
        self.ask.identity()
    }

    /// A list in JSON, whose rows are made while it is sent.
    pub(crate) fn rows<R: Serialize + 'static>(
        &self,
        frame: Frame,
        rows: impl Iterator<Item = Result<Option<R>, Refusal>> + Send + 'static,
    ) -> Answer {
        self.chunks(JSON, json_rows(&self.ask, frame, self.counted(rows)))
    }

    /// A list in any form.
    pub(crate) fn list<R: 'static>(
        &self,
        content_type: &'static str,
        frame: Frame,
        rows: impl Iterator<Item = Result<Option<R>, Refusal>> + Send + 'static,
        put: impl FnMut(&mut Vec<u8>, R) -> Result<(), Refusal> + Send + 'static,
    ) -> Answer {
        self.chunks(content_type, list(&self.ask, frame, self.counted(rows), put))
    }

    /// Counts rows as they are made.
    fn counted<R>(
        &self,
        rows: impl Iterator<Item = Result<Option<R>, Refusal>> + Send + 'static,
    ) -> impl Iterator<Item = Result<Option<R>, Refusal>> + Send + 'static {
        let mut count = RowCount::of(&self.watch);
        rows.inspect(move |row| {
            if matches!(row, Ok(Some(_))) {
                count.add_one();
            }
        })
    }

    /// A table that is there, in one of three formats.
    pub(crate) fn table(&self, table: Table, format: &str) -> Answer {
        if format == "arrow" {
            self.ask.lease.grow_by(table.rows(), ARROW_ROW_BYTES)?;
            return Ok(answer::whole(arrow::CONTENT_TYPE, table.into_arrow()?));
        }
        let rows = (0..table.rows()).map(|row| Ok(Some(row)));
        if format == "csv" {
            return self.list(CSV, table.csv_frame(), rows, move |out, row| {
                table.put_csv(out, row);
                Ok(())
            });
        }
        self.list(JSON, table.json_frame()?, rows, move |out, row| {
            table.put_json(out, row);
            Ok(())
        })
    }

    /// A long answer, made as it is read.
    pub(crate) fn chunks<I, T, E>(&self, content_type: &'static str, chunks: I) -> Answer
    where
        I: Iterator<Item = Result<T, E>> + Send + 'static,
        T: Into<Chunk> + 'static,
        E: Display + Into<Refusal> + Send + 'static,
    {
        // It is answered when the last chunk is made.
        let watch = Arc::clone(&self.watch);
        let chunks = chunks.inspect(move |_| _ = &watch);
        answer::chunks(&self.app.delivery, content_type, chunks)
    }
}

/// Who orders what a request does: who that was found to be, by which way it comes, and beside that what the client calls itself.
pub(crate) fn principal(identity: &Identity, query: &Params, request: &Extensions) -> Principal {
    let principal = match request.get::<Peer>() {
        None => Principal::here(ARCHIVER),
        Some(peer) => {
            let address = match peer.client {
                Client::Address(address) => Some(address.ip()),
                Client::User(_) => None,
            };
            let listener = request.get::<Arc<Door>>().map(|door| door.name.clone()).unwrap_or_default();
            let request = request.get::<RequestNumber>().map(|number| number.0.clone()).unwrap_or_default();
            identity.principal().by_way(Way { address, listener, request })
        }
    };
    match query.get("by") {
        Some(name) => principal.calling_itself(name),
        None => principal,
    }
}
