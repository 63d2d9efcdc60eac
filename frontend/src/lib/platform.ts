const MAC = /Mac|iPhone|iPad/.test(navigator.platform)

/** The names of the modifier keys as they are printed on the person's keyboard. */
export const MOD = MAC ? '⌘' : 'Ctrl'
export const ALT = MAC ? '⌥' : 'Alt'
export const SHIFT = '⇧'

export const isMod = (event: { metaKey: boolean; ctrlKey: boolean }): boolean =>
  MAC ? event.metaKey : event.ctrlKey

/** Whether the Option key of a Mac makes this key a letter, such as the Polish ż. In a field it is text then. */
export const isOptionLetter = ({ key, altKey, metaKey }: KeyboardEvent): boolean =>
  MAC && altKey && !metaKey && /^\p{Script=Latin}$/u.test(key) && !/^[a-z]$/i.test(key)
