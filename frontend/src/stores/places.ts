/**
 * The project that each conversation works in; null for the home. A conversation is absent until the server was asked, because its
 * list of conversations does not say it.
 */
import { create } from 'zustand'

export type Places = Readonly<Record<string, string | null>>

export const usePlaces = create<{ of: Places }>(() => ({ of: {} }))

export const putPlaces = (places: Places): void =>
  usePlaces.setState(({ of }) => ({ of: { ...of, ...places } }))

export const forgetPlaces = (): void => usePlaces.setState({ of: {} })
