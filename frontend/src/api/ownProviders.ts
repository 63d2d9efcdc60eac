/** The providers that a person has connected for themselves on a server of several people. */
import { useQuery } from '@tanstack/react-query'
import { api, dataOf } from './client'
import type { OwnProviderPatch, OwnProviderToAdd } from './types'

export const ownProvidersKey = ['own-providers'] as const

const of = (id: string) => ({ params: { path: { id } } })

export const listOwnProviders = () => dataOf(api.GET('/api/own-providers'))
export const addOwnProvider = (body: OwnProviderToAdd) => dataOf(api.POST('/api/own-providers', { body }))
export const changeOwnProvider = (id: string, body: OwnProviderPatch) =>
  dataOf(api.PATCH('/api/own-providers/{id}', { ...of(id), body }))
export const removeOwnProvider = (id: string) => dataOf(api.DELETE('/api/own-providers/{id}', of(id)))
export const checkOwnProvider = (id: string) => dataOf(api.POST('/api/own-providers/{id}/check', of(id)))
export const setOwnDefault = (model: string | null) =>
  dataOf(api.PUT('/api/own-providers/default', { body: { model } }))

export const useOwnProviders = () =>
  useQuery({ queryKey: ownProvidersKey, queryFn: listOwnProviders, staleTime: 0 })
