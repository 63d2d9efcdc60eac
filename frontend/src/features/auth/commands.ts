import { canSignOut, isAdmin, isMulti } from '@/api/multi'
import { keys, queryClient } from '@/api/queries'
import type { Status } from '@/api/types'
import { defineCommands } from '@/app/command'
import { openDialog } from '@/stores/ui'
import { signOut } from './signOut'

export const authCommands = defineCommands([
  {
    id: 'account',
    label: 'account',
    keys: null,
    enabled: isMulti,
    run: () => openDialog({ name: 'account', part: 'profile' }),
  },
  {
    id: 'changePassword',
    label: 'changePassword',
    keys: null,
    enabled: isMulti,
    run: () => openDialog({ name: 'account', part: 'password' }),
  },
  {
    id: 'accessTokens',
    label: 'accessTokens',
    keys: null,
    enabled: isMulti,
    run: () => openDialog({ name: 'account', part: 'tokens' }),
  },
  { id: 'people', label: 'people', keys: null, enabled: isAdmin, run: () => openDialog({ name: 'people' }) },
  {
    id: 'signOutEverywhere',
    label: 'signOutEverywhere',
    keys: null,
    enabled: () => isMulti() && canSignOut(),
    run: () => openDialog({ name: 'signOutEverywhere' }),
  },
  {
    id: 'signOut',
    label: 'signOut',
    keys: null,
    enabled: () =>
      (isMulti() && canSignOut()) || queryClient.getQueryData<Status>(keys.status)?.needs_token === true,
    run: () => void signOut(),
  },
])
