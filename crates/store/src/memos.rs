//! Memos as the archive keeps them: each change is one transaction of the catalogue.

use archive::{By, Memo, MemoText};

use crate::{Error, Writer, catalog::memos::PutMemos};

impl Writer {
    /// Keeps memos; see `Curator`.
    pub fn put_memos(&self, memos: &[(Option<Memo>, MemoText)], by: &By) -> Result<Vec<Memo>, Error> {
        let put = self.engine.change_catalog(|catalog| catalog.put_memos(memos, by))?;
        match put {
            PutMemos::Kept(kept) => Ok(kept),
            PutMemos::Full => Err(Error::NoRoomForMemos),
            PutMemos::Taken(name) => Err(Error::ViewTaken { name }),
            PutMemos::Gone(number) => {
                Err(Error::NothingThere { what: format!("note or view with the number {number}") })
            }
        }
    }

    /// Takes a memo away; see `Curator`.
    pub fn remove_memo(&self, memo: &Memo, by: &By) -> Result<(), Error> {
        self.engine.change_catalog(|catalog| catalog.remove_memo(memo, by))
    }
}
