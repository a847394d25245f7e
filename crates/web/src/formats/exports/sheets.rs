//! Exports as XLSX. Times are texts in ISO 8601, to the nanosecond, beside dates for plots, which a spreadsheet keeps to some microseconds.
//!
//! ```text
//!   raw      sheet `PVs`: which sheet is whose, units; a sheet for each PV, more where a sheet is full or its type changes
//!            time, date, value, [label of an enum], severity, status, message, pulse
//!   aligned  sheet `rows`, more where it is full: time, date, a column for each PV
//! ```
//! Texts are texts, whatever they begin with. What no cell holds as a number is text: NaN, infinities, integers beyond 2^53. Arrays and
//! structures are JSON. Sheets are made in files without names, and packed at the end.

use query::AlignedRows;
use rust_xlsxwriter::{DocProperties, ExcelDateTime, Format, Workbook, Worksheet, XlsxError};
use sample::{Batch, Column, Element, Metadata, Shape, Timestamp, ValueType};
use service::{CELL_CHARS_MAX, Draft, ExportWanted, SHEET_ROWS_MAX, SHEETS_MAX};

use super::parts::{Part, RawForm, RowForm, failed};
use crate::{
    formats::{
        rows::RowsHeading,
        value::{Dialect, put},
    },
    refusal::{Code, Refusal},
};

/// What a cell takes beside its text while its sheet is made.
const CELL_BYTES: u64 = 32;
/// Integers beyond are not exact as cells.
const EXACT_MAX: u64 = 1 << 53;
const DATE_FORMAT: &str = "yyyy-mm-dd hh:mm:ss.000";
const DAY: f64 = 86_400.0;
/// 1970 by the calendar of spreadsheets, which begins with 1900.
const DAYS_TO_1970: f64 = 25_569.0;

/// A workbook while it is made: one sheet after the other, a row after the other.
struct Book {
    draft: Draft,
    book: Workbook,
    date: Format,
    sheets: u64,
    /// The next of the present sheet.
    row: u32,
    /// What is counted as lying beside the draft soon.
    beside: u64,
}

/// A cell.
enum Cell<'a> {
    Number(f64),
    Bool(bool),
    Text(&'a str),
}

impl Book {
    fn new(draft: &Draft) -> Result<Book, Refusal> {
        let mut book = Workbook::new();
        book.set_tempdir(draft.folder()).map_err(failed)?;
        book.use_zip_large_file(true);
        // The same export is the same bytes.
        let epoch = ExcelDateTime::from_timestamp(0).map_err(failed)?;
        book.set_properties(&DocProperties::new().set_creation_datetime(&epoch));
        let date = Format::new().set_num_format(DATE_FORMAT);
        Ok(Book { draft: draft.clone(), book, date, sheets: 0, row: 0, beside: 0 })
    }

    /// Another sheet, with its heading.
    fn begin(&mut self, name: &str, heading: &[&str]) -> Result<(), Refusal> {
        self.sheets += 1;
        if self.sheets > SHEETS_MAX {
            let message = format!("more than {SHEETS_MAX} sheets would be needed");
            let hint = "export them as parquet or csv, or fewer PVs, or a shorter range";
            return Err(Refusal::new(Code::TooLarge, message).hint(hint));
        }
        let sheet = self.book.add_worksheet_with_constant_memory().map_err(failed)?;
        sheet.set_name(name).map_err(failed)?;
        sheet.set_column_width(0, 31).map_err(failed)?;
        sheet.set_column_width(1, 23).map_err(failed)?;
        sheet.set_freeze_panes(1, 0).map_err(failed)?;
        for (column, title) in (0..).zip(heading) {
            sheet.write_string(0, column, cut(title)).map_err(failed)?;
        }
        self.row = 1;
        Ok(())
    }

    fn is_full(&self) -> bool {
        u64::from(self.row) > SHEET_ROWS_MAX
    }

    fn sheet(&mut self) -> Result<&mut Worksheet, Refusal> {
        let last = self.book.worksheets().len().saturating_sub(1);
        self.book.worksheet_from_index(last).map_err(failed)
    }

    /// The first two cells of a row.
    fn time(&mut self, time: Timestamp) -> Result<(), Refusal> {
        let (row, date) = (self.row, self.date.clone());
        let days = time.seconds_f64() / DAY + DAYS_TO_1970;
        self.beside += 3 * CELL_BYTES;
        let sheet = self.sheet()?;
        sheet.write_string(row, 0, time.to_string()).map_err(failed)?;
        if days >= 0.0 {
            sheet.write_number_with_format(row, 1, days, &date).map_err(failed)?;
        }
        Ok(())
    }

    fn cell(&mut self, column: u16, cell: Cell) -> Result<(), Refusal> {
        let row = self.row;
        self.beside += CELL_BYTES;
        if let Cell::Text(text) = cell {
            self.beside += text.len() as u64;
        }
        let sheet = self.sheet()?;
        let written: Result<_, XlsxError> = match cell {
            Cell::Number(number) if number.is_finite() => sheet.write_number(row, column, number),
            Cell::Number(number) if number.is_nan() => sheet.write_string(row, column, "NaN"),
            Cell::Number(number) => {
                sheet.write_string(row, column, if number > 0.0 { "Infinity" } else { "-Infinity" })
            }
            Cell::Bool(value) => sheet.write_boolean(row, column, value),
            Cell::Text(text) => sheet.write_string(row, column, text),
        };
        written.map(drop).map_err(failed)
    }

    /// A value as a cell.
    fn value(&mut self, column: u16, values: &Column, row: usize, pv: &str) -> Result<(), Refusal> {
        match values {
            Column::Bool(v) => self.cell(column, Cell::Bool(v[row])),
            Column::I64(v) if v[row].unsigned_abs() > EXACT_MAX => self.cell(column, Cell::Text(&v[row].to_string())),
            Column::U64(v) if v[row] > EXACT_MAX => self.cell(column, Cell::Text(&v[row].to_string())),
            // The digits that say which f32 it is, as a double of the same digits.
            Column::F32(v) if v[row].is_finite() => {
                let number = v[row].to_string().parse().unwrap_or(f64::from(v[row]));
                self.cell(column, Cell::Number(number))
            }
            Column::String(v) => self.text(column, v.get(row), pv),
            Column::Array(_) | Column::Structure(_) => {
                let mut json = Vec::new();
                put(&mut json, values, row, Dialect::Exact);
                self.text(column, &String::from_utf8_lossy(&json), pv)
            }
            numbers => self.cell(column, Cell::Number(numbers.f64_at(row).unwrap_or(f64::NAN))),
        }
    }

    /// A text that is a value: it is not cut off.
    fn text(&mut self, column: u16, text: &str, pv: &str) -> Result<(), Refusal> {
        if text.len() > CELL_CHARS_MAX && text.encode_utf16().count() > CELL_CHARS_MAX {
            let message = format!("a value of {pv} has {} characters, and a cell at most 32,767", text.chars().count());
            return Err(Refusal::new(Code::TooLarge, message).hint("leave it out, or export it as parquet or arrow"));
        }
        self.cell(column, Cell::Text(text))
    }

    /// A row is whole. Now and then it is looked whether there is room.
    fn next(&mut self) -> Result<(), Refusal> {
        self.row += 1;
        if self.beside >= 1 << 20 {
            self.draft.beside(std::mem::take(&mut self.beside))?;
        }
        Ok(())
    }

    fn finish(&mut self) -> Result<(), Refusal> {
        self.book.save_to_writer(&mut self.draft).map_err(failed)
    }
}

/// What is no value is cut off rather than refused.
fn cut(text: &str) -> String {
    text.chars().take(255).collect()
}

/// Every sample, on a sheet for each PV.
pub(super) struct RawSheets {
    book: Book,
    names: Vec<String>,
    /// Of the present PV.
    sheets: usize,
    /// The next of the first sheet.
    listed: u32,
}

impl RawSheets {
    pub(super) fn new(draft: &Draft, _wanted: &ExportWanted, names: Vec<String>) -> Result<RawSheets, Refusal> {
        let mut book = Book::new(draft)?;
        let list = book.book.add_worksheet();
        list.set_name("PVs").map_err(failed)?;
        list.set_column_width(0, 40).map_err(failed)?;
        list.set_freeze_panes(1, 0).map_err(failed)?;
        for (column, title) in (0..).zip(["pv", "sheet", "type", "units", "description", "states"]) {
            list.write_string(0, column, title).map_err(failed)?;
        }
        Ok(RawSheets { book, names, sheets: 0, listed: 1 })
    }

    /// A sheet for what comes of a part, and a row for it on the first.
    fn begin_sheet(&mut self, part: &Part) -> Result<(), Refusal> {
        self.sheets += 1;
        let name = match self.sheets {
            1 => self.names[part.index].clone(),
            number => format!("{} ({number})", self.names[part.index]),
        };
        let heading: &[&str] = match part.value_type {
            ValueType { element: Element::Enum, shape: Shape::Scalar } => {
                &["time", "date", "value", "severity", "status", "message", "pulse", "label"]
            }
            _ => &["time", "date", "value", "severity", "status", "message", "pulse"],
        };
        self.book.begin(&name, heading)?;
        let newest = part.history.last().map(|(_, metadata)| metadata.clone()).unwrap_or_default();
        let row = self.listed;
        self.listed += 1;
        let (units, text) = (newest.units.unwrap_or_default(), newest.description.unwrap_or_default());
        let cells = [part.pv.name.clone(), name, part.value_type.to_string(), units, text, newest.labels.join(", ")];
        let list = self.book.book.worksheet_from_index(0).map_err(failed)?;
        for (column, text) in (0..).zip(cells) {
            list.write_string(row, column, cut(&text)).map_err(failed)?;
        }
        Ok(())
    }
}

/// What a state was called at a time.
fn label(history: &[(Timestamp, Metadata)], time: Timestamp, state: i32) -> Option<&str> {
    let in_force = history.iter().rev().find(|(since, _)| *since <= time).or(history.first())?;
    in_force.1.labels.get(usize::try_from(state).ok()?).map(String::as_str)
}

impl RawForm for RawSheets {
    fn begin(&mut self, part: &Part) -> Result<(), Refusal> {
        if part.number == 0 {
            self.sheets = 0;
        }
        self.begin_sheet(part)
    }

    fn put(&mut self, part: &Part, batch: Batch) -> Result<(), Refusal> {
        for row in 0..batch.len() {
            if self.book.is_full() {
                self.begin_sheet(part)?;
            }
            let (time, alarm) = (batch.times()[row], batch.alarms().get(row));
            self.book.time(time)?;
            self.book.value(2, batch.values(), row, &part.pv.name)?;
            self.book.cell(3, Cell::Number(f64::from(alarm.severity as u8)))?;
            self.book.cell(4, Cell::Number(f64::from(alarm.status)))?;
            if let Some(message) = &alarm.message {
                self.book.text(5, message, &part.pv.name)?;
            }
            let pulse = *batch.pulses().get(row);
            match pulse {
                0..=EXACT_MAX => self.book.cell(6, Cell::Number(pulse as f64))?,
                pulse => self.book.cell(6, Cell::Text(&pulse.to_string()))?,
            }
            if let Column::Enum(states) = batch.values()
                && let Some(label) = label(part.history, time, states[row])
            {
                self.book.text(7, label, &part.pv.name)?;
            }
            self.book.next()?;
        }
        Ok(())
    }

    fn end(&mut self, _part: &Part) -> Result<(), Refusal> {
        Ok(())
    }

    fn finish(&mut self) -> Result<(), Refusal> {
        self.book.finish()
    }
}

/// All PVs on the same times.
pub(super) struct RowSheets {
    book: Book,
    heading: RowsHeading,
    titles: Vec<String>,
}

impl RowSheets {
    pub(super) fn new(draft: &Draft, heading: RowsHeading) -> Result<RowSheets, Refusal> {
        let mut titles = vec!["time".to_owned(), "date".to_owned()];
        for name in &heading.names {
            titles.push(name.clone());
            if heading.with_severity {
                titles.push(format!("{name}.severity"));
            }
        }
        let mut sheets = RowSheets { book: Book::new(draft)?, heading, titles };
        sheets.begin_sheet()?;
        Ok(sheets)
    }

    fn begin_sheet(&mut self) -> Result<(), Refusal> {
        let name = match self.book.sheets + 1 {
            1 => "rows".to_owned(),
            number => format!("rows ({number})"),
        };
        let titles: Vec<&str> = self.titles.iter().map(String::as_str).collect();
        self.book.begin(&name, &titles)
    }
}

impl RowForm for RowSheets {
    fn put(&mut self, rows: AlignedRows) -> Result<(), Refusal> {
        for (row, time) in rows.times.iter().enumerate() {
            if self.book.is_full() {
                self.begin_sheet()?;
            }
            self.book.time(*time)?;
            let mut place = 2;
            for (column, name) in rows.columns.iter().zip(&self.heading.names) {
                if column.present[row] {
                    self.book.value(place, &column.values, row, name)?;
                }
                place += 1;
                if self.heading.with_severity {
                    if column.present[row] {
                        self.book.cell(place, Cell::Number(f64::from(column.severities[row] as u8)))?;
                    }
                    place += 1;
                }
            }
            self.book.next()?;
        }
        Ok(())
    }

    fn finish(&mut self) -> Result<(), Refusal> {
        self.book.finish()
    }
}
