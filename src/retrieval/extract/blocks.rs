//! Builds the Markdown of an office document, block by block.

use std::fmt::Write;

use super::{TEXT_LIMIT, Unreadable};

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Block {
    #[default]
    Paragraph,
    /// A heading with its level, 1-based.
    Heading(u8),
    Item,
}

/// Collects blocks in document order. A nested table becomes text of the cell that contains it.
#[derive(Default)]
pub struct Blocks {
    text: String,
    /// Number of open tables.
    tables: usize,
    /// Number of rows written of the outermost table.
    rows: usize,
    /// The closed cells of its current row; `cell` is the open one.
    cells: Vec<String>,
    cell: String,
    last: Block,
}

impl Blocks {
    pub fn add(&mut self, block: Block, text: &str) -> Result<(), Unreadable> {
        let text = text.trim();
        if text.is_empty() {
            return Ok(());
        }
        if self.text.len() + self.cell.len() + text.len() > TEXT_LIMIT {
            return Err(Unreadable::TextLimit);
        }
        if self.tables > 0 {
            if !self.cell.is_empty() {
                self.cell.push(' ');
            }
            self.cell.extend(text.chars().map(|c| if matches!(c, '\n' | '|') { ' ' } else { c }));
            return Ok(());
        }
        if self.last == Block::Item && block != Block::Item {
            self.text.push('\n');
        }
        // Writing into a string cannot fail.
        let _ = match block {
            Block::Heading(level) => {
                write!(self.text, "{} {}\n\n", "#".repeat(level.clamp(1, 6).into()), one_line(text))
            }
            Block::Item => writeln!(self.text, "- {}", one_line(text)),
            Block::Paragraph => write!(self.text, "{text}\n\n"),
        };
        self.last = block;
        Ok(())
    }

    pub fn open_table(&mut self) {
        if self.tables == 0 {
            if self.last == Block::Item {
                self.text.push('\n');
            }
            self.rows = 0;
            self.cells.clear();
            self.cell.clear();
            self.last = Block::Paragraph;
        }
        self.tables += 1;
    }

    pub fn close_cell(&mut self) {
        if self.tables == 1 {
            self.cells.push(std::mem::take(&mut self.cell));
        }
    }

    pub fn close_row(&mut self) -> Result<(), Unreadable> {
        if self.tables != 1 || self.cells.is_empty() {
            return Ok(());
        }
        let cells = std::mem::take(&mut self.cells);
        let _ = writeln!(self.text, "| {} |", cells.join(" | "));
        if self.rows == 0 {
            let _ = writeln!(self.text, "|{}", " --- |".repeat(cells.len()));
        }
        self.rows += 1;
        if self.text.len() > TEXT_LIMIT { Err(Unreadable::TextLimit) } else { Ok(()) }
    }

    pub fn close_table(&mut self) -> Result<(), Unreadable> {
        if self.tables == 1 {
            // A row that was never closed.
            if !self.cell.is_empty() {
                self.close_cell();
            }
            self.close_row()?;
            self.text.push('\n');
        }
        self.tables = self.tables.saturating_sub(1);
        Ok(())
    }

    pub fn finish(mut self) -> Result<String, Unreadable> {
        while self.tables > 0 {
            self.close_table()?;
        }
        self.text.truncate(self.text.trim_end().len());
        if self.text.is_empty() { Err(Unreadable::NoText) } else { Ok(self.text) }
    }
}

fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}
