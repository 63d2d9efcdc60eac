import { useMutation } from '@tanstack/react-query'
import { checkProvider, connectProvider } from '@/api/endpoints'
import { patchModel } from '@/api/queries'
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

/** Checks an address and a key with the provider, then stores them on the server with a model. */
export function useConnecting(onConnected: () => void) {
  const check = useMutation({
    mutationFn: ({ address, key }: Provider) => checkProvider(address, key),
    gcTime,
  })
  const save = useMutation({
    mutationFn: ({ address, key, model }: Provider & { model: string }) =>
      connectProvider(address, key, model),
    gcTime,
    onSuccess: status => {
      patchModel(status)
      toast(t('providerDone', { model: status.label || status.model }))
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
