import { keys, queryClient } from '@/api/queries'
import type { Status } from '@/api/types'
import { defineCommands } from '@/app/command'
import { signOut } from './signOut'

export const authCommands = defineCommands([
  {
    id: 'signOut',
    label: 'signOut',
    keys: null,
    enabled: () => queryClient.getQueryData<Status>(keys.status)?.needs_token === true,
    run: () => void signOut(),
  },
])
