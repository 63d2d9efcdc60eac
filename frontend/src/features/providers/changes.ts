/** Changes of providers and models: each answers with the new state, which replaces the cached one. */
import {
  changeModel,
  changeProvider,
  checkProvider,
  findProviders,
  removeProvider,
  setDefaultModel,
  setFallbackModel,
} from '@/api/endpoints'
import { keys, queryClient, refreshEach } from '@/api/queries'
import type { Provider, Providers } from '@/api/types'
import { t } from '@/lib/i18n'
import '@/lib/later'
import { reasonOf } from '@/lib/reason'
import { toast } from '@/stores/toasts'

/** What else shows models. */
const shown = () => refreshEach([keys.models, keys.status, keys.tokens, keys.settings])

const replaceAll = (providers: Providers): void => {
  queryClient.setQueryData<Providers>(keys.providers, providers)
  shown()
}

const replaceOne = (provider: Provider): void => {
  queryClient.setQueryData<Providers>(
    keys.providers,
    known =>
      known && { ...known, providers: known.providers.map(one => (one.id === provider.id ? provider : one)) },
  )
  shown()
}

/** Runs a change; a refusal is shown as a toast. Returns whether it was made. */
async function tried<Answer>(change: Promise<Answer>, apply: (answer: Answer) => void): Promise<boolean> {
  try {
    apply(await change)
    return true
  } catch (error) {
    toast(reasonOf(error), { tone: 'bad' })
    return false
  }
}

export const check = (id: string) => tried(checkProvider(id), replaceOne)
export const remove = ({ id, name }: Provider) =>
  tried(removeProvider(id), providers => {
    replaceAll(providers)
    toast(t('providerRemoved', { name }))
  })
/** Searches this machine for model servers; returns whether there is one. */
export async function find(): Promise<boolean> {
  let n = 0
  await tried(findProviders(), providers => {
    replaceAll(providers)
    const found = providers.providers.filter(({ source }) => source === 'found')
    n = found.reduce((sum, { models }) => sum + models.length, 0)
    toast(t(n > 0 ? 'providersFound' : 'providersNotFound', { n }))
  })
  return n > 0
}
export const setFavorite = (model: string, favorite: boolean) =>
  tried(changeModel(model, { favorite }), replaceAll)
export const setEnabled = (model: string, enabled: boolean) =>
  tried(changeModel(model, { enabled }), replaceAll)
export const makeDefault = (model: string) => tried(setDefaultModel(model), replaceAll)
export const makeFallback = (model: string | null) => tried(setFallbackModel(model), replaceAll)

/** Throws the refusal, which the form shows. */
export const saveProvider = async (id: string, body: Parameters<typeof changeProvider>[1]): Promise<void> =>
  replaceOne(await changeProvider(id, body))
/** Throws the refusal, which the form shows. */
export const saveParameters = async (model: string, parameters: Record<string, unknown>): Promise<void> =>
  replaceAll(await changeModel(model, { parameters }))
