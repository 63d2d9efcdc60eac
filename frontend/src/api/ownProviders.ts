/** The providers that a person has connected for themselves on a server of several people. */
import { useQuery } from '@tanstack/react-query'
import { api, asPage, dataOf } from './client'
import type { OwnProviderPatch, OwnProviderToAdd } from './types'

export const ownProvidersKey = ['own-providers'] as const

const of = (id: string) => ({ path: { id } })

export const listOwnProviders = () => dataOf(api.GET('/api/own-providers'))
export const addOwnProvider = (body: OwnProviderToAdd) =>
  asPage(header => api.POST('/api/own-providers', { params: { header }, body }))
export const changeOwnProvider = (id: string, body: OwnProviderPatch) =>
  asPage(header => api.PATCH('/api/own-providers/{id}', { params: { header, ...of(id) }, body }))
export const removeOwnProvider = (id: string) =>
  asPage(header => api.DELETE('/api/own-providers/{id}', { params: { header, ...of(id) } }))
export const checkOwnProvider = (id: string) =>
  asPage(header => api.POST('/api/own-providers/{id}/check', { params: { header, ...of(id) } }))
export const setOwnDefault = (model: string | null) =>
  asPage(header => api.PUT('/api/own-providers/default', { params: { header }, body: { model } }))

export const useOwnProviders = () =>
  useQuery({ queryKey: ownProvidersKey, queryFn: listOwnProviders, staleTime: 0 })
