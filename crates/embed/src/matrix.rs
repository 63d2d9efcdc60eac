//! Matrices of 32-bit floats in row-major order.

/// The weights of a linear layer: `inputs` rows of `outputs` columns.
pub(crate) struct Matrix {
    weights: Vec<f32>,
    pub inputs: usize,
    pub outputs: usize,
}

/// Rows within a slice: row `i` begins at `start + i * stride`. Rows may overlap.
#[derive(Clone, Copy)]
pub(crate) struct Rows {
    pub start: usize,
    pub stride: usize,
    pub count: usize,
}

impl Rows {
    pub fn new(start: usize, stride: usize, count: usize) -> Self {
        Self { start, stride, count }
    }

    /// Returns the index after the last float of the last row, for rows of `width` floats.
    fn end(self, width: usize) -> usize {
        if self.count == 0 { self.start } else { self.start + (self.count - 1) * self.stride + width }
    }
}

impl Matrix {
    /// # Panics
    /// Panics if the number of weights is not `inputs * outputs`.
    pub fn new(weights: Vec<f32>, inputs: usize, outputs: usize) -> Self {
        assert_eq!(weights.len(), inputs * outputs, "a whole matrix");
        Self { weights, inputs, outputs }
    }

    /// Joins matrices with the same number of inputs into one, with their columns side by side.
    pub fn concatenate(parts: &[Self; 3]) -> Self {
        let inputs = parts[0].inputs;
        assert!(parts.iter().all(|part| part.inputs == inputs), "as many rows each");
        let mut weights = Vec::new();
        for input in 0..inputs {
            for part in parts {
                weights.extend_from_slice(&part.weights[input * part.outputs..][..part.outputs]);
            }
        }
        Self { weights, inputs, outputs: parts.iter().map(|part| part.outputs).sum() }
    }

    /// Multiplies the rows of `from` by this matrix and writes the products to the rows of `into`.
    pub fn apply(&self, from: (&[f32], Rows), into: (&mut [f32], Rows)) {
        multiply(from, (&self.weights, self.inputs, self.outputs), into);
    }
}

/// Multiplies the rows of `from` by `matrix` (weights, number of rows, number of columns) and writes the products to the rows
/// of `into`.
pub(crate) fn multiply(from: (&[f32], Rows), matrix: (&[f32], usize, usize), into: (&mut [f32], Rows)) {
    let (source, rows) = from;
    let (weights, inputs, outputs) = matrix;
    let (target, places) = into;
    assert_eq!(weights.len(), inputs * outputs, "a whole matrix");
    assert_eq!(rows.count, places.count, "a row for every row");
    assert!(rows.end(inputs) <= source.len(), "all rows are in the source");
    assert!(places.end(outputs) <= target.len(), "all rows are in the target");
    assert!(places.count <= 1 || places.stride >= outputs, "rows of the target do not overlap");
    if rows.count == 0 {
        return;
    }
    // SAFETY: the assertions above ensure that all elements read lie in `source` or `weights`, and that the elements written
    // lie in `target` and are distinct. With more than one row, the strides are less than the lengths of the slices, which
    // fit `isize`. `sgemm` does not read the target because beta is zero.
    unsafe {
        matrixmultiply::sgemm(
            rows.count,
            inputs,
            outputs,
            1.0,
            source.as_ptr().add(rows.start),
            rows.stride as isize,
            1,
            weights.as_ptr(),
            outputs as isize,
            1,
            0.0,
            target.as_mut_ptr().add(places.start),
            places.stride as isize,
            1,
        );
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn numbers(count: usize, seed: usize) -> Vec<f32> {
        (0..count).map(|at| ((at * 7 + seed * 13) % 11) as f32 - 5.0).collect()
    }

    proptest! {
        #[test]
        fn overlapping_rows_multiply_correctly(
            (inputs, outputs, count, stride) in (1_usize..40, 1_usize..40, 0_usize..20, 1_usize..50),
            start in 0_usize..5,
        ) {
            let matrix = Matrix { weights: numbers(inputs * outputs, 1), inputs, outputs };
            let (rows, places) = (Rows::new(start, stride, count), Rows::new(start, outputs + 3, count));
            let source = numbers(rows.end(inputs), 2);
            let mut target = vec![f32::NAN; places.end(outputs)];
            matrix.apply((&source, rows), (&mut target, places));
            for row in 0..count {
                for column in 0..outputs {
                    let exact: f32 = (0..inputs)
                        .map(|at| source[start + row * stride + at] * matrix.weights[at * outputs + column])
                        .sum();
                    prop_assert!((target[start + row * (outputs + 3) + column] - exact).abs() < 1e-3);
                }
            }
            let written = target.iter().filter(|value| !value.is_nan()).count();
            prop_assert_eq!(written, count * outputs, "nothing else is written");
        }
    }

    #[test]
    #[should_panic(expected = "all rows are in the source")]
    fn rows_outside_source_panic() {
        let matrix = Matrix { weights: numbers(6, 1), inputs: 2, outputs: 3 };
        matrix.apply((&[0.0; 5], Rows::new(0, 2, 3)), (&mut [0.0; 9], Rows::new(0, 3, 3)));
    }

    #[test]
    #[should_panic(expected = "all rows are in the target")]
    fn rows_outside_target_panic() {
        let matrix = Matrix { weights: numbers(6, 1), inputs: 2, outputs: 3 };
        matrix.apply((&[0.0; 6], Rows::new(0, 2, 3)), (&mut [0.0; 8], Rows::new(0, 3, 3)));
    }

    #[test]
    fn concatenated_columns_stand_side_by_side() {
        let matrix = |weights: &[f32], outputs| Matrix { weights: weights.to_vec(), inputs: 2, outputs };
        let both =
            Matrix::concatenate(&[matrix(&[1.0, 2.0], 1), matrix(&[3.0, 4.0], 1), matrix(&[5.0, 6.0, 7.0, 8.0], 2)]);
        assert_eq!((both.weights.as_slice(), both.outputs), (&[1.0, 3.0, 5.0, 6.0, 2.0, 4.0, 7.0, 8.0][..], 4));
    }
}
