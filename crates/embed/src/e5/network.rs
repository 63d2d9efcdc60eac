//! The network: a BERT (Devlin et al. 2019, arXiv:1810.04805) with 12 layers of 12 attention heads each.

use std::f32::consts::{FRAC_1_SQRT_2, LOG2_E};

use super::file::WeightsFile;
use super::linear::{BLOCK, Linear, PACKED, QuantisedRows, weights};
use super::vectorised;
use crate::InvalidModel;
use crate::matrix::{Rows, multiply};

/// Number of floats in a token's vector.
pub(super) const DIMENSION: usize = 384;
pub(super) const LAYERS: usize = 12;
pub(super) const HEADS: usize = 12;
/// Number of floats of a token's vector that each attention head processes.
const HEAD: usize = DIMENSION / HEADS;
/// Number of floats between the two linear layers of the feed-forward layer.
pub(super) const HIDDEN: usize = 1536;
/// Maximum number of tokens of a text: the number of positions that have an embedding.
pub(super) const POSITIONS: usize = 512;

pub(super) struct Network {
    /// The embeddings of all tokens, in blocks of 4-bit numbers; 54 MB.
    table: Vec<[u8; PACKED]>,
    /// The embedding of each position, plus the embedding of the only token type in use.
    positions: Vec<f32>,
    norm: Norm,
    layers: Vec<Layer>,
}

struct Layer {
    query: Linear,
    key: Linear,
    value: Linear,
    attention_output: Linear,
    attention_norm: Norm,
    intermediate: Linear,
    output: Linear,
    norm: Norm,
}

struct Norm {
    gain: Vec<f32>,
    bias: Vec<f32>,
    epsilon: f32,
}

impl Network {
    pub fn read(file: &WeightsFile<'_>) -> Result<Self, InvalidModel> {
        let mut positions = file.floats("emb.pos", POSITIONS * DIMENSION)?;
        let kinds = file.floats("emb.type", 2 * DIMENSION)?;
        positions.chunks_exact_mut(DIMENSION).for_each(|place| add(place, &kinds[..DIMENSION]));
        Ok(Self {
            table: file.blocks("emb.word", file.rows * DIMENSION)?.to_vec(),
            positions,
            norm: Norm::read(file, "emb.ln")?,
            layers: (0..LAYERS).map(|number| Layer::read(file, number)).collect::<Result<_, _>>()?,
        })
    }

    /// Returns the number of tokens that have an embedding. Valid ids are less than this number.
    pub fn vocabulary_size(&self) -> usize {
        self.table.len() / (DIMENSION / BLOCK)
    }

    /// Computes a row of [`DIMENSION`] floats for each token of a text.
    ///
    /// # Panics
    /// Panics if there are more than [`POSITIONS`] ids, or if an id is not less than [`Network::vocabulary_size`].
    pub fn encode(&self, ids: &[u32]) -> Vec<f32> {
        let mut rows = self.positions[..ids.len() * DIMENSION].to_vec();
        for (row, id) in rows.chunks_exact_mut(DIMENSION).zip(ids) {
            let blocks = &self.table[*id as usize * (DIMENSION / BLOCK)..];
            row.chunks_exact_mut(BLOCK).zip(blocks).for_each(|(row, block)| add(row, &weights(block)));
        }
        self.norm.apply(&mut rows);
        for layer in &self.layers {
            layer.apply(&mut rows);
        }
        rows
    }
}

impl Layer {
    fn read(file: &WeightsFile<'_>, number: usize) -> Result<Self, InvalidModel> {
        let linear = |name, inputs, outputs| Linear::read(file, &format!("l{number}.{name}"), inputs, outputs);
        let square = |name| linear(name, DIMENSION, DIMENSION);
        Ok(Self {
            query: square("q")?,
            key: square("k")?,
            value: square("v")?,
            attention_output: square("ao")?,
            attention_norm: Norm::read(file, &format!("l{number}.aln"))?,
            intermediate: linear("fi", DIMENSION, HIDDEN)?,
            output: linear("fo", HIDDEN, DIMENSION)?,
            norm: Norm::read(file, &format!("l{number}.oln"))?,
        })
    }

    fn apply(&self, rows: &mut [f32]) {
        let inputs = QuantisedRows::new(rows, DIMENSION);
        let seen = attention(&self.query.apply(&inputs), &self.key.apply(&inputs), &self.value.apply(&inputs));
        add(rows, &self.attention_output.apply(&QuantisedRows::new(&seen, DIMENSION)));
        self.attention_norm.apply(rows);
        let mut hidden = self.intermediate.apply(&QuantisedRows::new(rows, DIMENSION));
        gelu(&mut hidden);
        add(rows, &self.output.apply(&QuantisedRows::new(&hidden, HIDDEN)));
        self.norm.apply(rows);
    }
}

/// Computes scaled dot-product attention for each head: the mean of all values, weighted by the softmax of the products of
/// query and keys.
fn attention(queries: &[f32], keys: &[f32], values: &[f32]) -> Vec<f32> {
    let count = queries.len() / DIMENSION;
    let mut seen = vec![0.0; queries.len()];
    let mut scores = vec![0.0; count * count];
    let (mut own_keys, mut own_values) = (vec![0.0; HEAD * count], vec![0.0; HEAD * count]);
    for head in 0..HEADS {
        let own = Rows::new(head * HEAD, DIMENSION, count);
        for at in 0..count {
            let place = at * DIMENSION + head * HEAD;
            own_values[at * HEAD..][..HEAD].copy_from_slice(&values[place..][..HEAD]);
            keys[place..][..HEAD].iter().enumerate().for_each(|(row, key)| own_keys[row * count + at] = *key);
        }
        multiply((queries, own), (&own_keys, HEAD, count), (&mut scores, Rows::new(0, count, count)));
        scores.chunks_exact_mut(count).for_each(softmax);
        multiply((&scores, Rows::new(0, count, count)), (&own_values, count, HEAD), (&mut seen, own));
    }
    seen
}

impl Norm {
    fn read(file: &WeightsFile<'_>, name: &str) -> Result<Self, InvalidModel> {
        let floats = |part| file.floats(&format!("{name}.{part}"), DIMENSION);
        Ok(Self { gain: floats("w")?, bias: floats("b")?, epsilon: file.epsilon })
    }

    /// Layer normalisation: shifts and scales each row to mean 0 and variance 1, then applies gain and bias.
    fn apply(&self, rows: &mut [f32]) {
        for row in rows.chunks_exact_mut(DIMENSION) {
            let mean = sum(row, |value| value) / DIMENSION as f32;
            row.iter_mut().for_each(|value| *value -= mean);
            let variance = sum(row, |value| value * value) / DIMENSION as f32;
            let scale = 1.0 / (variance + self.epsilon).sqrt();
            for ((value, gain), bias) in row.iter_mut().zip(&self.gain).zip(&self.bias) {
                *value = *value * scale * gain + bias;
            }
        }
    }
}

pub(super) fn add(row: &mut [f32], other: &[f32]) {
    row.iter_mut().zip(other).for_each(|(value, more)| *value += more);
}

#[inline(always)]
pub(super) fn sum(values: &[f32], of: impl Fn(f32) -> f32) -> f32 {
    fold_in_lanes(values, 0.0, |sum, value| sum + value, of)
}

/// Folds the values in eight independent lanes, which takes about an eighth of the time of a sequential fold.
#[inline(always)]
fn fold_in_lanes(values: &[f32], start: f32, put: impl Fn(f32, f32) -> f32, of: impl Fn(f32) -> f32) -> f32 {
    let (eights, rest) = values.as_chunks::<8>();
    let mut all = [start; 8];
    for eight in eights {
        all.iter_mut().zip(eight).for_each(|(one, value)| *one = put(*one, of(*value)));
    }
    rest.iter().map(|value| of(*value)).chain(all).fold(start, put)
}

vectorised! {
    /// Divides the scores by the square root of [`HEAD`] (32) and replaces them with their softmax.
    fn softmax(scores: &mut [f32]) {
        let most = fold_in_lanes(scores, f32::MIN, |most, score| if score > most { score } else { most }, |score| score);
        scores.iter_mut().for_each(|score| *score = exponential((*score - most) * (FRAC_1_SQRT_2 / 4.0)));
        let scale = 1.0 / sum(scores, |score| score);
        scores.iter_mut().for_each(|score| *score *= scale);
    }
}

vectorised! {
    /// Applies the Gaussian error linear unit: multiplies each value by the cumulative normal distribution at that value.
    fn gelu(values: &mut [f32]) {
        for value in values {
            // The error function by Abramowitz and Stegun, 7.1.26, with an error of at most 1.5e-7.
            let z = value.abs() * FRAC_1_SQRT_2;
            let t = 1.0 / (1.0 + 0.327_591_1 * z);
            let tail = ((((1.061_405_4 * t - 1.453_152_1) * t + 1.421_413_8) * t - 0.284_496_72) * t + 0.254_829_6) * t;
            let error = (1.0 - tail * exponential(-z * z)).copysign(*value);
            *value = 0.5 * *value * (1.0 + error);
        }
    }
}

/// Returns the exponential of a number that is at most 0, accurate to a few units in the last place. For numbers below -87 it
/// returns the exponential of -87.
#[inline(always)]
fn exponential(value: f32) -> f32 {
    let value = if value > -87.0 { value } else { -87.0 };
    // Adding this constant rounds a small number to an integer in the lowest bits.
    let rounded = value * LOG2_E + 12_582_912.0;
    let whole = rounded - 12_582_912.0;
    // Subtracts the multiple of ln 2 in two parts to keep all bits, like Cephes, expf.c.
    let rest = value - whole * 0.693_359_4 + whole * 2.121_944_4e-4;
    let series = ((((1.987_569_1e-4 * rest + 1.398_199_9e-3) * rest + 8.333_452e-3) * rest + 4.166_579_6e-2) * rest
        + 0.166_666_66)
        * rest
        + 0.5;
    let power = f32::from_bits((rounded.to_bits() << 23).wrapping_add(127 << 23));
    (series * rest * rest + rest + 1.0) * power
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn exponential_matches_standard_library() {
        for at in 0..870 {
            let value = at as f32 * -0.1;
            let exact = value.exp();
            assert!((exponential(value) - exact).abs() <= 4e-7 * exact, "{value}");
        }
        assert!(exponential(-1e9) < 1e-37 && exponential(0.0) == 1.0);
    }

    #[test]
    fn gelu_matches_normal_distribution() {
        let mut values = [0.0, 1.0, -1.0, 3.0, -3.0, 0.5, 20.0, -20.0, 1e6_f32];
        gelu(&mut values);
        let exact = [0.0, 0.841_344_75, -0.158_655_25, 2.995_950_3, -0.004_049_694, 0.345_731_23, 20.0, 0.0, 1e6];
        for (value, exact) in values.iter().zip(exact) {
            assert!((f64::from(*value) - exact).abs() <= 1e-6 * f64::max(exact, 1.0), "{value} {exact}");
        }
    }

    #[test]
    fn softmax_matches_definition() {
        for count in [1, 7, 8, 9, 40] {
            let scores: Vec<f32> = (0..count).map(|at| (at * 37 % 11) as f32 - 300.0).collect();
            let mut shares = scores.clone();
            softmax(&mut shares);
            let exponentials = scores.iter().map(|score| f64::from((score + 300.0) / 32_f32.sqrt()).exp());
            let sum: f64 = exponentials.clone().sum();
            for (share, exact) in shares.iter().zip(exponentials) {
                assert!((f64::from(*share) - exact / sum).abs() < 1e-6);
            }
        }
    }

    #[test]
    fn heads_attend_independently() {
        // The second token's keys match every query, except in the last head.
        let queries = [1.0; 3 * DIMENSION];
        let mut keys = vec![0.0; 3 * DIMENSION];
        keys[DIMENSION..2 * DIMENSION - HEAD].fill(50.0);
        let values: Vec<f32> = (0..3 * DIMENSION).map(|at| ((at / DIMENSION) as f32).powi(2)).collect();
        for row in attention(&queries, &keys, &values).chunks_exact(DIMENSION) {
            let (most, last) = row.split_at(DIMENSION - HEAD);
            assert!(most.iter().all(|value| (value - 1.0).abs() < 1e-4), "the second token's value");
            assert!(last.iter().all(|value| (value - 5.0 / 3.0).abs() < 1e-4), "the mean of 0, 1 and 4");
        }
    }
}
