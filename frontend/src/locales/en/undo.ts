/** The preview of undoing a work. */
export const undo = {
  undoLimits:
    'Each file goes back to what it was before this work. Only changes of files made with the file tools are undone: what commands did is not.',
  undoBusy: 'This conversation is at work. Wait until it is done, or stop it.',
  undoNothing: 'Nothing is left to undo.',
  undoStays: 'It was changed after that, so it stays as it is.',
  undoDiff: 'What undoing makes of {path}',
  undoChanges: 'Undo {n} {n|change|changes}',
}
