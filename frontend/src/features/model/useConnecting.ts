import { useMutation } from '@tanstack/react-query'
import { hasCode } from '@/api/client'
import { addProvider, changeProvider, checkAddress, listProviders, setDefaultModel } from '@/api/endpoints'
import { keys, refreshEach } from '@/api/queries'
import { t } from '@/lib/i18n'
import '@/lib/later'
import { reasonOf } from '@/lib/reason'
import { toast } from '@/stores/toasts'

interface Provider {
  address: string
  key: string
}

/** The variables of a mutation have the key: nothing keeps them longer than the form. */
const gcTime = 0

/** Adds the provider. One that is there already gets the new key. */
async function connect({ address, key, model }: Provider & { model: string }): Promise<void> {
  try {
    await addProvider(address, key, model)
  } catch (error) {
    if (!hasCode(error, 'provider_exists')) throw error
    const { providers } = await listProviders()
    const known = providers.find(({ base_url }) => base_url === address.replace(/\/+$/, ''))
    const named = known?.models.find(({ name, enabled }) => name === model && enabled)
    if (!known?.editable || !named) throw error
    if (key.trim() !== '') await changeProvider(known.id, { api_key: key })
    await setDefaultModel(named.id)
  }
}

/** Checks an address and a key with the provider, then stores them on the server with a model. */
export function useConnecting(onConnected: () => void) {
  const check = useMutation({
    mutationFn: ({ address, key }: Provider) => checkAddress(address, key),
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
