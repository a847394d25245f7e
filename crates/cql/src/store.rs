//! The seam over CQL: each call is one statement, and waits for its answer.

use std::{collections::BTreeSet, fmt, ops::Range, sync::Arc};

use scylla::{
    client::session::Session,
    deserialize::row::DeserializeRow,
    errors::PrepareError,
    response::query_result::QueryRowsResult,
    serialize::row::SerializeRow,
    statement::prepared::PreparedStatement,
    value::{CqlValue, Row},
};
use shared::{Created, Error, Result, Seq, Shared, Swapped, is_key};
use tokio::runtime::{Builder, Runtime};

use crate::{
    config::Config,
    failure::{failed, strange, unfit, unreached},
    place::{Place, Table, key_of},
    settings,
    statements::{Statements, make_tables},
};

/// Rows of a journal that share a partition.
const PART: u64 = 10_000;

/// One statement asks for at most this many rows.
const STATEMENT_ROWS_MAX: usize = 500;

/// A keyspace, as a shared store. Its calls block, and must not be made by a task of tokio.
pub struct Cql {
    config: Config,
    session: Session,
    statements: Statements,
    runtime: Runtime,
}

impl fmt::Debug for Cql {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.config.fmt(f)
    }
}

impl Cql {
    /// Reaches the cluster, and makes the keyspace and the tables that are not there.
    pub fn open(config: Config) -> Result<Arc<Cql>> {
        let doing = format!("open {config:?}");
        let named = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'_';
        if config.keyspace.is_empty() || config.keyspace.len() > 48 || !config.keyspace.bytes().all(named) {
            let reason = format!("{:?} cannot be the name of a keyspace", config.keyspace);
            return Err(Error::Refused { doing, reason });
        }
        let runtime = Builder::new_multi_thread().worker_threads(2).thread_name("cql").enable_all().build();
        let runtime = runtime.map_err(|source| Error::Local { doing: "start threads for CQL".into(), source })?;
        let builder = config.session().map_err(|why| {
            let reason = format!("the files of its `tls` cannot be used: {why}");
            Error::Refused { doing: doing.clone(), reason }
        })?;
        let session = runtime.block_on(builder.build());
        let session = session.map_err(|error| unreached(&config, &doing, &error))?;
        runtime.block_on(make_tables(&session, &config)).map_err(|error| failed(&doing, &error))?;
        let statements = runtime.block_on(Statements::prepare(&session, &config.keyspace));
        let statements = statements.map_err(|error: PrepareError| unfit(&doing, &error))?;
        Ok(Arc::new(Cql { config, session, statements, runtime }))
    }

    /// Sends a statement that gives no rows.
    fn send(&self, doing: &str, statement: &PreparedStatement, values: impl SerializeRow) -> Result<()> {
        let sent = self.runtime.block_on(self.session.execute_unpaged(statement, values));
        sent.map(drop).map_err(|error| failed(doing, &error))
    }

    /// Sends a statement that gives few rows.
    fn ask(&self, doing: &str, statement: &PreparedStatement, values: impl SerializeRow) -> Result<QueryRowsResult> {
        let sent = self.runtime.block_on(self.session.execute_unpaged(statement, values));
        let result = sent.map_err(|error| failed(doing, &error))?;
        result.into_rows_result().map_err(|error| strange(doing, &error))
    }

    /// The first column of the one row that there may be.
    fn one(&self, doing: &str, statement: &PreparedStatement, values: impl SerializeRow) -> Result<Option<Vec<u8>>> {
        let rows = self.ask(doing, statement, values)?;
        let row = rows.maybe_first_row::<(Option<Vec<u8>>,)>().map_err(|error| strange(doing, &error))?;
        // An empty value is one, and may come as none.
        Ok(row.map(|(bytes,)| bytes.unwrap_or_default()))
    }

    /// Whether a transaction was applied. What else an answer has differs between servers.
    fn applied(&self, doing: &str, statement: &PreparedStatement, values: impl SerializeRow) -> Result<bool> {
        let rows = self.ask(doing, statement, values)?;
        let row = rows.first_row::<Row>().map_err(|error| strange(doing, &error))?;
        match row.columns.first() {
            Some(Some(CqlValue::Boolean(applied))) => Ok(*applied),
            other => Err(Error::Damaged { what: doing.into(), reason: format!("it was answered with {other:?}") }),
        }
    }

    /// All rows of a statement, however many.
    fn all<R>(&self, doing: &str, statement: &PreparedStatement, values: impl SerializeRow) -> Result<Vec<R>>
    where
        R: for<'frame, 'metadata> DeserializeRow<'frame, 'metadata> + Send,
    {
        use futures_util::TryStreamExt;
        let unknown = |error: &dyn std::error::Error| Error::Unknown { doing: doing.into(), reason: error.to_string() };
        self.runtime.block_on(async {
            let pages = self.session.execute_iter(statement.clone(), values).await.map_err(|error| unknown(&error))?;
            let rows = pages.rows_stream::<R>().map_err(|error| strange(doing, &error))?;
            rows.try_collect().await.map_err(|error| unknown(&error))
        })
    }

    fn body(&self, key: &str) -> Result<Option<Vec<u8>>> {
        let Place { table, key: partition, part, piece } = Place::of(key);
        self.one(&format!("get {key}"), &self.statements.of(table).get, (partition, part, piece))
    }
}

/// A number as CQL has it.
fn bigint(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

fn checked(doing: String, key: &str) -> Result<String> {
    if is_key(key) { Ok(doing) } else { Err(Error::Refused { doing, reason: "no key has such characters".into() }) }
}

impl Shared for Cql {
    fn put(&self, key: &str, bytes: &[u8]) -> Result<()> {
        let doing = checked(format!("put {key}"), key)?;
        let Place { table, key, part, piece } = Place::of(key);
        self.send(&doing, &self.statements.of(table).put, (key, part, piece, bytes))
    }

    fn get(&self, key: &str, range: Range<u64>) -> Result<Option<Vec<u8>>> {
        checked(format!("get {key}"), key)?;
        let Some(mut bytes) = self.body(key)? else { return Ok(None) };
        let end = range.end.min(bytes.len() as u64);
        bytes.truncate(end as usize);
        bytes.drain(..range.start.min(end) as usize);
        Ok(Some(bytes))
    }

    fn len(&self, key: &str) -> Result<Option<u64>> {
        checked(format!("measure {key}"), key)?;
        // CQL has no statement that measures a value on all servers.
        Ok(self.body(key)?.map(|bytes| bytes.len() as u64))
    }

    fn remove(&self, key: &str) -> Result<()> {
        let doing = checked(format!("remove {key}"), key)?;
        let Place { table, key, part, piece } = Place::of(key);
        self.send(&doing, &self.statements.of(table).remove, (key, part, piece))
    }

    fn list(&self, prefix: &str, after: &str, max: usize) -> Result<Vec<String>> {
        let doing = format!("list {prefix}");
        let mut found = BTreeSet::new();
        for table in [Table::LogBody, Table::Young] {
            let statements = self.statements.of(table);
            let mut partitions: Vec<(String, i32)> = self.all(&doing, &statements.partitions, ())?;
            partitions.retain(|(key, _)| {
                let folder = key_of(key, "");
                let is_passed = folder.as_str() < after && !after.starts_with(&folder);
                !is_passed && (folder.starts_with(prefix) || prefix.starts_with(&folder))
            });
            partitions.sort_by_cached_key(|(key, part)| (key_of(key, ""), *part));
            for (key, part) in partitions {
                // All keys of a partition begin with its folder: those of the ones behind are greater than all that are wanted.
                let last = (found.len() == max).then(|| found.last()).flatten();
                if last.is_some_and(|last: &String| key_of(&key, "") > *last) {
                    break;
                }
                let pieces: Vec<(String,)> = self.all(&doing, &statements.pieces, (&key, part))?;
                let keys = pieces.into_iter().map(|(piece,)| key_of(&key, &piece));
                found.extend(keys.filter(|key| key.starts_with(prefix) && key.as_str() > after));
                while found.len() > max {
                    found.pop_last();
                }
            }
        }
        Ok(found.into_iter().collect())
    }

    fn create(&self, journal: &str, seq: Seq, row: &[u8]) -> Result<Created> {
        let doing = checked(format!("append row {seq} to {journal}"), journal)?;
        let values = (journal, bigint(seq.0 / PART), bigint(seq.0), row);
        if self.applied(&doing, &self.statements.create, values)? {
            return Ok(Created::Done);
        }
        let found = self.row(journal, seq)?.map(Created::Taken);
        found.ok_or_else(|| Error::Damaged { what: format!("row {seq} of {journal}"), reason: "it went away".into() })
    }

    fn row(&self, journal: &str, seq: Seq) -> Result<Option<Vec<u8>>> {
        let doing = checked(format!("read row {seq} of {journal}"), journal)?;
        self.one(&doing, &self.statements.row, (journal, bigint(seq.0 / PART), bigint(seq.0)))
    }

    fn rows(&self, journal: &str, from: Seq, max: usize) -> Result<Vec<Vec<u8>>> {
        let doing = checked(format!("read {journal} from row {from} on"), journal)?;
        let mut found = Vec::new();
        while found.len() < max {
            let next = from.0 + found.len() as u64;
            let of_part = (PART - next % PART).min((max - found.len()).min(STATEMENT_ROWS_MAX) as u64);
            let values = (journal, bigint(next / PART), bigint(next), of_part as i32);
            let rows = self.ask(&doing, &self.statements.rows, values)?;
            let before = found.len();
            for row in rows.rows::<(i64, Vec<u8>)>().map_err(|error| strange(&doing, &error))? {
                let (seq, row) = row.map_err(|error| strange(&doing, &error))?;
                if seq != bigint(from.0 + found.len() as u64) {
                    return Ok(found);
                }
                found.push(row);
            }
            if ((found.len() - before) as u64) < of_part {
                break;
            }
        }
        Ok(found)
    }

    fn value(&self, name: &str) -> Result<Option<Vec<u8>>> {
        let doing = checked(format!("read {name}"), name)?;
        self.one(&doing, &self.statements.value, (name,))
    }

    fn swap(&self, name: &str, old: Option<&[u8]>, new: &[u8]) -> Result<Swapped> {
        let doing = checked(format!("swap {name}"), name)?;
        let applied = match old {
            None => self.applied(&doing, &self.statements.first_value, (new, name))?,
            Some(old) => self.applied(&doing, &self.statements.next_value, (new, name, old))?,
        };
        Ok(if applied { Swapped::Done } else { Swapped::Differs })
    }

    fn beat(&self, node: &str, beat: &[u8]) -> Result<()> {
        let doing = checked(format!("beat as {node}"), node)?;
        self.send(&doing, &self.statements.beat, (node, beat))
    }

    fn forget(&self, node: &str) -> Result<()> {
        let doing = checked(format!("forget {node}"), node)?;
        self.send(&doing, &self.statements.forget, (node,))
    }

    fn beats(&self) -> Result<Vec<(String, Vec<u8>)>> {
        // Few, and wanted each second: one answer has them all.
        let doing = "read the beats";
        let rows = self.ask(doing, &self.statements.beats, ())?;
        let rows = rows.rows::<(String, Vec<u8>)>().map_err(|error| strange(doing, &error))?;
        let mut beats = rows.collect::<std::result::Result<Vec<_>, _>>().map_err(|error| strange(doing, &error))?;
        beats.sort();
        Ok(beats)
    }

    fn caveats(&self) -> Result<Vec<String>> {
        if self.config.accepts_unsynced {
            return Ok(Vec::new());
        }
        Ok(self.runtime.block_on(settings::caveats(&self.session)))
    }
}
