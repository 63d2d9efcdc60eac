const MAC = /Mac|iPhone|iPad/.test(navigator.platform)

/** The names of the modifier keys as they are printed on the person's keyboard. */
export const MOD = MAC ? '⌘' : 'Ctrl'
export const ALT = MAC ? '⌥' : 'Alt'
export const SHIFT = '⇧'

export const isMod = (event: { metaKey: boolean; ctrlKey: boolean }): boolean =>
  MAC ? event.metaKey : event.ctrlKey
