import { useState } from 'react'
import { useProfile } from '@/api/peopleQueries'
import { Dialog } from '@/components/ui/Dialog'
import { QueryError } from '@/components/ui/QueryError'
import { Skeleton } from '@/components/ui/Skeleton'
import { TabList, TabPanel, Tabs } from '@/components/ui/Tabs'
import { useT } from '@/lib/i18n'
import '@/lib/later'
import type { AccountPart } from '@/stores/ui'
import { AccessTokens } from './AccessTokens'
import { PasswordForm } from './PasswordForm'
import { ProfileForm } from './ProfileForm'

interface Props {
  open: boolean
  onOpenChange: (open: boolean) => void
  part: AccountPart
}

/** The person's own account: profile, password and access tokens. */
export default function AccountDialog({ open, onOpenChange, part }: Props) {
  const t = useT()
  const [shown, setShown] = useState<AccountPart>(part)
  const { data: person, error } = useProfile(true)
  const tabs = [
    { value: 'profile', words: t('accountProfile') },
    { value: 'password', words: t('passwordWord') },
    { value: 'tokens', words: t('accessTokens') },
  ] as const
  return (
    <Dialog size="wide" open={open} onOpenChange={onOpenChange} title={t('account')}>
      <Tabs value={shown} onChange={setShown}>
        <TabList label={t('account')} tabs={tabs} stretch className="mb-4" />
        <TabPanel of="profile">
          {person ? (
            <ProfileForm key={person.id} person={person} />
          ) : error ? (
            <QueryError error={error} />
          ) : (
            <Skeleton label={t('loading')} rows={5} />
          )}
        </TabPanel>
        <TabPanel of="password">
          <PasswordForm username={person?.username ?? ''} />
        </TabPanel>
        <TabPanel of="tokens">{shown === 'tokens' && <AccessTokens />}</TabPanel>
      </Tabs>
    </Dialog>
  )
}
