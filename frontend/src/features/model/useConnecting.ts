import { useMutation } from '@tanstack/react-query'
import { hasCode } from '@/api/client'
import {
  addProvider,
  changeProvider,
  checkAddress,
  keyOf,
  listProviders,
  setDefaultModel,
} from '@/api/endpoints'
import { keys, refreshEach } from '@/api/queries'
import { t } from '@/lib/i18n'
import '@/lib/later'
import { reasonOf } from '@/lib/reason'
import { toast } from '@/stores/toasts'
import type { ApiForm } from './apiForm'

interface Provider {
  address: string
  key: string
  /** Null: the address tells it. */
  form: ApiForm | null
}

/** The variables of a mutation have the key: nothing keeps them longer than the form. */
const gcTime = 0

/** Adds the provider. One that is there already gets the new key. */
async function connect({ address, key, form, model }: Provider & { model: string }): Promise<void> {
  try {
    await addProvider({ base_url: address, default_model: model, ...keyOf(key), ...(form && { api: form }) })
  } catch (error) {
    if (!hasCode(error, 'provider_exists')) throw error
    const { providers } = await listProviders()
    const known = providers.find(({ base_url }) => base_url === address.replace(/\/+$/, ''))
    const named = known?.models.find(({ name, enabled }) => name === model && enabled)
    if (!known?.editable || !named) throw error
    const change = { ...keyOf(key), ...(form && { api: form }) }
    if (Object.keys(change).length > 0) await changeProvider(known.id, change)
    await setDefaultModel(named.id)
  }
}

/** Checks an address and a key with the provider, then stores them on the server with a model. */
export function useConnecting(onConnected: () => void) {
  const check = useMutation({
    mutationFn: ({ address, key, form }: Provider) => checkAddress(address, key, form),
    gcTime,
  })
  const save = useMutation({
    mutationFn: connect,
    gcTime,
    onSuccess: (_, { model }) => {
      refreshEach([keys.providers, keys.models, keys.status, keys.tokens, keys.settings])
      toast(t('providerDone', { model }))
      onConnected()
    },
  })
  const error = check.error ?? save.error
  return {
    check: check.mutate,
    save: save.mutate,
    /** The models that the provider listed when it accepted the key; null before that. */
    models: check.data ?? null,
    busy: check.isPending || save.isPending,
    problem: error && reasonOf(error),
    /** Forgets the result, because address or key have changed. */
    reset: () => {
      check.reset()
      save.reset()
    },
  }
}
