//! The convolutional network: token embeddings pass through three branches of two convolutions each, with windows of 2, 3
//! and 5 tokens; the features of all tokens are summed, divided by the square root of the number of tokens, and passed
//! through dense layers.

use super::npz::Npz;
use crate::matrix::{Matrix, Rows};
use crate::{InvalidModel, invalid};

/// Number of floats in a token's embedding and in a text's vector.
pub(super) const DIMENSION: usize = 512;
/// Number of features that each branch computes for a token.
const BRANCH: usize = 256;
/// The branches: window size in tokens, number of these tokens before the current one, and names of the weights.
const BRANCHES: [(usize, usize, [&str; 8]); 3] = [
    (2, 0, ["proj2", "proj_b2", "ln_g2", "ln_b2", "w1_2", "b1_2", "w2_2", "b2_2"]),
    (3, 1, ["proj3", "proj_b3", "ln_g3", "ln_b3", "w1_3", "b1_3", "w2_3", "b2_3"]),
    (5, 2, ["proj5", "proj_b5", "ln_g5", "ln_b5", "w1_5", "b1_5", "w2_5", "b2_5"]),
];
const BRANCHED: usize = BRANCHES.len() * BRANCH;
/// Number of features of a token: its embedding and the features of all branches.
const FEATURES: usize = DIMENSION + BRANCHED;
/// Rows of zeros before, between and after the texts: the maximum number of rows by which a window extends beyond a text.
const MARGIN: usize = 2;
const HIDDEN: usize = 320;
/// Maximum rows of a batch of several texts: enough to amortise reading the weights, few enough to fit in the CPU cache.
const BATCH_ROWS: usize = 384;

/// Number of blocks of the embedding table. The embedding of token `t` is row `t / BLOCKS` of block `t % BLOCKS`.
const BLOCKS: usize = 17;
const BLOCK_NAMES: [&str; BLOCKS] =
    ["q1", "q2", "q3", "q4", "q5", "q6", "q7", "q8", "q9", "q10", "q11", "q12", "q13", "q14", "q15", "q16", "q17"];

pub(super) struct Network {
    table: EmbeddingTable,
    project: Dense,
    project_norm: Norm,
    branches: Vec<Branch>,
    norm: Norm,
    sum: Dense,
    tail: DenseTail,
    epsilon: f32,
}

/// The embeddings of all tokens, quantised to 6 bits with one offset and step for each block. Four values take three bytes,
/// and the whole table takes 49 MB.
struct EmbeddingTable {
    packed: Vec<u8>,
    rows: usize,
    lowest: Vec<f32>,
    step: Vec<f32>,
}

/// Size of a packed embedding in bytes.
const PACKED: usize = DIMENSION / 4 * 3;

struct Dense {
    matrix: Matrix,
    bias: Vec<f32>,
}

struct Norm {
    gain: Vec<f32>,
    bias: Vec<f32>,
    epsilon: f32,
}

struct Branch {
    /// Window size in tokens; `before` of them precede the current token.
    window: usize,
    before: usize,
    first: Dense,
    second: Dense,
}

/// The dense layers at the end: two residual blocks.
struct DenseTail {
    in_hidden: Matrix,
    hidden: Matrix,
    in_residual: Matrix,
    out_hidden: Matrix,
    out: Matrix,
    out_residual: Matrix,
}

/// The rows of each text in the matrices of a batch.
struct BatchLayout {
    /// First row and number of rows of each text.
    texts: Vec<(usize, usize)>,
    rows: usize,
}

impl Network {
    pub fn read(weights: &Npz<'_>) -> Result<Self, InvalidModel> {
        let epsilon = weights.double("eps")? as f32;
        let column = |names: [&'static str; 3]| -> Result<Vec<f32>, InvalidModel> {
            let parts: Vec<_> = names.iter().map(|name| weights.floats(name, &[BRANCH])).collect::<Result<_, _>>()?;
            Ok(parts.concat())
        };
        let dense = |(name, bias), inputs, outputs| -> Result<Dense, InvalidModel> {
            Ok(Dense { matrix: read_matrix(weights, name, inputs, outputs)?, bias: weights.floats(bias, &[outputs])? })
        };
        let projection = |branch: usize| read_matrix(weights, BRANCHES[branch].2[0], DIMENSION, BRANCH);
        let projections = [projection(0)?, projection(1)?, projection(2)?];
        let branches = BRANCHES.iter().map(|(window, before, names)| {
            let first = dense((names[4], names[5]), window * BRANCH, BRANCH)?;
            let second = dense((names[6], names[7]), window * BRANCH, BRANCH)?;
            Ok(Branch { window: *window, before: *before, first, second })
        });
        let layer = |name, inputs, outputs| read_matrix(weights, name, inputs, outputs);
        Ok(Self {
            table: EmbeddingTable::read(weights)?,
            project: Dense {
                matrix: Matrix::concatenate(&projections),
                bias: column(BRANCHES.map(|(_, _, names)| names[1]))?,
            },
            project_norm: Norm {
                gain: column(BRANCHES.map(|(_, _, names)| names[2]))?,
                bias: column(BRANCHES.map(|(_, _, names)| names[3]))?,
                epsilon,
            },
            branches: branches.collect::<Result<_, InvalidModel>>()?,
            norm: Norm {
                gain: weights.floats("ln_g", &[FEATURES])?,
                bias: weights.floats("ln_b", &[FEATURES])?,
                epsilon,
            },
            sum: dense(("cnn_W", "cnn_b"), FEATURES, DIMENSION)?,
            tail: DenseTail {
                in_hidden: layer("d0", DIMENSION, HIDDEN)?,
                hidden: layer("d1", HIDDEN, HIDDEN)?,
                in_residual: layer("p1", DIMENSION, HIDDEN)?,
                out_hidden: layer("d2", HIDDEN, DIMENSION)?,
                out: layer("d3", DIMENSION, DIMENSION)?,
                out_residual: layer("p3", HIDDEN, DIMENSION)?,
            },
            epsilon,
        })
    }

    /// Returns the number of tokens that have an embedding. Valid ids are less than this number.
    pub fn vocabulary_size(&self) -> usize {
        self.table.rows * BLOCKS
    }

    /// Computes one L2-normalised vector for each text, given as token ids.
    ///
    /// # Panics
    /// Panics if an id is not less than [`Network::vocabulary_size`].
    pub fn encode(&self, texts: &[Vec<u32>]) -> Vec<Vec<f32>> {
        let mut vectors = Vec::with_capacity(texts.len());
        let mut rest = texts;
        while !rest.is_empty() {
            let mut rows = MARGIN;
            let fit = rest.iter().take_while(|text| {
                rows += text.len() + MARGIN;
                rows <= BATCH_ROWS
            });
            let (batch, others) = rest.split_at(fit.count().max(1));
            vectors.extend(self.encode_batch(batch));
            rest = others;
        }
        vectors
    }

    fn encode_batch(&self, texts: &[Vec<u32>]) -> Vec<Vec<f32>> {
        let layout = BatchLayout::of(texts);
        let mut features = vec![0.0; layout.rows * FEATURES];
        for ((start, _), text) in layout.texts.iter().zip(texts) {
            for (row, token) in features[start * FEATURES..].chunks_exact_mut(FEATURES).zip(text) {
                self.table.unpack(*token as usize, &mut row[..DIMENSION]);
            }
        }
        let mut seen = vec![0.0; layout.rows * BRANCHED];
        self.project
            .matrix
            .apply((&features, Rows::new(0, FEATURES, layout.rows)), (&mut seen, Rows::new(0, BRANCHED, layout.rows)));
        layout.each(&mut seen, BRANCHED, |row| {
            add(row, &self.project.bias);
            self.project_norm.apply(row);
        });
        for (number, branch) in self.branches.iter().enumerate() {
            let column = number * BRANCH;
            let own: Vec<f32> =
                seen.chunks_exact(BRANCHED).flat_map(|row| &row[column..column + BRANCH]).copied().collect();
            branch.convolve(&layout, own, (&mut features, DIMENSION + column));
        }
        layout.each(&mut features, FEATURES, |row| self.norm.apply(row));
        self.finish(&layout, &features)
    }

    /// Computes one vector for each text from the features of its tokens.
    fn finish(&self, layout: &BatchLayout, features: &[f32]) -> Vec<Vec<f32>> {
        let mut sums = vec![0.0; layout.texts.len() * FEATURES];
        for ((start, count), sum) in layout.texts.iter().zip(sums.chunks_exact_mut(FEATURES)) {
            for row in features[start * FEATURES..].chunks_exact(FEATURES).take(*count) {
                add(sum, row);
            }
        }
        // The layer is linear, so it can be applied to the sum instead of to every token.
        let mut mean = product(&self.sum.matrix, &sums);
        for ((_, count), row) in layout.texts.iter().zip(mean.chunks_exact_mut(DIMENSION)) {
            let count = *count as f32;
            let scale = 1.0 / count.sqrt();
            row.iter_mut().zip(&self.sum.bias).for_each(|(value, bias)| *value = (*value + count * bias) * scale);
        }
        let mut out = self.tail.apply(&mean);
        out.iter_mut().for_each(|value| *value = value.tanh());
        let vectors = out.chunks_exact_mut(DIMENSION).map(|vector| {
            let square: f32 = vector.iter().map(|value| value * value).sum();
            let scale = 1.0 / square.max(self.epsilon).sqrt();
            vector.iter().map(|value| value * scale).collect()
        });
        vectors.collect()
    }
}

impl EmbeddingTable {
    fn read(weights: &Npz<'_>) -> Result<Self, InvalidModel> {
        let rows = weights.array(BLOCK_NAMES[0])?.shape.first().copied().unwrap_or_default();
        let mut packed = Vec::new();
        for name in BLOCK_NAMES {
            let array = weights.array(name)?;
            array.expect("|u1", &[rows, DIMENSION])?;
            packed.reserve_exact(rows * PACKED);
            array.unpack(|steps| {
                let (fours, odd) = steps.as_chunks::<4>();
                let mut all = 0;
                for [a, b, c, d] in fours {
                    all |= a | b | c | d;
                    packed.extend([a | b << 6, b >> 2 | c << 4, c >> 4 | d << 2]);
                }
                let fits = all < 64 && odd.is_empty();
                fits.then_some(()).ok_or_else(|| invalid(format!("the array {name} has steps of more than 6 bits")))
            })?;
        }
        Ok(Self { packed, rows, lowest: weights.floats("lo", &[BLOCKS])?, step: weights.floats("scale", &[BLOCKS])? })
    }

    fn unpack(&self, token: usize, into: &mut [f32]) {
        let (block, row) = (token % BLOCKS, token / BLOCKS);
        let (lowest, step) = (self.lowest[block], self.step[block]);
        let (threes, _) = self.packed[(block * self.rows + row) * PACKED..][..PACKED].as_chunks::<3>();
        let (fours, _) = into.as_chunks_mut::<4>();
        for (four, [a, b, c]) in fours.iter_mut().zip(threes) {
            let steps = [a & 63, a >> 6 | b << 2 & 63, b >> 4 | c << 4 & 63, c >> 2];
            *four = steps.map(|value| f32::from(value) * step + lowest);
        }
    }
}

impl Branch {
    /// Applies two convolutions, each with a residual connection. `own` has [`BRANCH`] columns and is zero outside the texts.
    /// Writes the result to [`BRANCH`] columns of `features`, starting at the given column.
    fn convolve(&self, layout: &BatchLayout, own: Vec<f32>, features: (&mut [f32], usize)) {
        let (features, column) = features;
        let inner = layout.rows - 2 * MARGIN;
        // The rows of a window are consecutive, so each window is one longer row that overlaps the next one.
        let windows = Rows::new((MARGIN - self.before) * BRANCH, BRANCH, inner);
        debug_assert!(self.window - 1 - self.before <= MARGIN);
        let mut first = vec![0.0; own.len()];
        self.first.matrix.apply((&own, windows), (&mut first, Rows::new(MARGIN * BRANCH, BRANCH, inner)));
        layout.each_with(&mut first, &own, |row, own| add_residual(row, &self.first.bias, own));
        let target = Rows::new(MARGIN * FEATURES + column, FEATURES, inner);
        self.second.matrix.apply((&first, windows), (features, target));
        for (start, count) in &layout.texts {
            let rows = features[start * FEATURES..].chunks_exact_mut(FEATURES).take(*count);
            for (row, own) in rows.zip(first[start * BRANCH..].chunks_exact(BRANCH)) {
                add_residual(&mut row[column..column + BRANCH], &self.second.bias, own);
            }
        }
    }
}

impl DenseTail {
    fn apply(&self, mean: &[f32]) -> Vec<f32> {
        let mut hidden_in = product(&self.in_hidden, mean);
        relu(&mut hidden_in);
        let mut middle = product(&self.in_residual, mean);
        add(&mut middle, &product(&self.hidden, &hidden_in));
        relu(&mut middle);
        let mut hidden = product(&self.out_hidden, &middle);
        relu(&mut hidden);
        let mut out = product(&self.out_residual, &middle);
        add(&mut out, &product(&self.out, &hidden));
        out
    }
}

impl Norm {
    /// Layer normalisation: shifts and scales a row to mean 0 and variance 1, then applies gain and bias.
    fn apply(&self, row: &mut [f32]) {
        let count = row.len() as f32;
        let mean = row.iter().sum::<f32>() / count;
        row.iter_mut().for_each(|value| *value -= mean);
        let variance = row.iter().map(|value| value * value).sum::<f32>() / count;
        let scale = 1.0 / (variance + self.epsilon).sqrt();
        for ((value, gain), bias) in row.iter_mut().zip(&self.gain).zip(&self.bias) {
            *value = *value * scale * gain + bias;
        }
    }
}

impl BatchLayout {
    fn of(texts: &[Vec<u32>]) -> Self {
        let mut rows = MARGIN;
        let mut layout = Vec::with_capacity(texts.len());
        for text in texts {
            layout.push((rows, text.len()));
            rows += text.len() + MARGIN;
        }
        Self { texts: layout, rows }
    }

    /// Applies `change` to each row of a text and fills all other rows with zeros.
    fn each(&self, matrix: &mut [f32], width: usize, mut change: impl FnMut(&mut [f32])) {
        let mut behind = 0;
        for (start, count) in &self.texts {
            matrix[behind * width..start * width].fill(0.0);
            behind = start + count;
            matrix[start * width..behind * width].chunks_exact_mut(width).for_each(&mut change);
        }
        matrix[behind * width..].fill(0.0);
    }

    fn each_with(&self, matrix: &mut [f32], other: &[f32], mut change: impl FnMut(&mut [f32], &[f32])) {
        let mut rows = self.texts.iter().flat_map(|(start, count)| *start..start + count);
        self.each(matrix, BRANCH, |row| {
            let at = rows.next().unwrap_or_default();
            change(row, &other[at * BRANCH..][..BRANCH]);
        });
    }
}

fn read_matrix(weights: &Npz<'_>, name: &'static str, inputs: usize, outputs: usize) -> Result<Matrix, InvalidModel> {
    Ok(Matrix::new(weights.floats(name, &[inputs, outputs])?, inputs, outputs))
}

fn product(matrix: &Matrix, rows: &[f32]) -> Vec<f32> {
    let count = rows.len() / matrix.inputs;
    let mut out = vec![0.0; count * matrix.outputs];
    matrix.apply((rows, Rows::new(0, matrix.inputs, count)), (&mut out, Rows::new(0, matrix.outputs, count)));
    out
}

fn add(row: &mut [f32], other: &[f32]) {
    row.iter_mut().zip(other).for_each(|(value, more)| *value += more);
}

fn relu(row: &mut [f32]) {
    row.iter_mut().for_each(|value| *value = value.max(0.0));
}

/// Adds the bias to a layer's output, applies ReLU, and adds the layer's input.
fn add_residual(row: &mut [f32], bias: &[f32], input: &[f32]) {
    for ((value, bias), input) in row.iter_mut().zip(bias).zip(input) {
        *value = (*value + bias).max(0.0) + input;
    }
}
