import { useState } from 'react'
import { Dialog } from '@/components/ui/Dialog'
import { TabList, TabPanel, Tabs } from '@/components/ui/Tabs'
import { useT } from '@/lib/i18n'
import '@/lib/later'
import { AuditLog } from './AuditLog'
import { Invitations } from './Invitations'
import { PeopleList } from './PeopleList'

interface Props {
  open: boolean
  onOpenChange: (open: boolean) => void
}

type Part = 'people' | 'invitations' | 'audit'

/** Who uses this server, for an administrator: accounts, invitations and the audit log, never contents. */
export default function PeopleDialog({ open, onOpenChange }: Props) {
  const t = useT()
  const [part, setPart] = useState<Part>('people')
  const tabs = [
    { value: 'people', words: t('people') },
    { value: 'invitations', words: t('peopleInvitations') },
    { value: 'audit', words: t('peopleAudit') },
  ] as const
  return (
    <Dialog size="wide" open={open} onOpenChange={onOpenChange} title={t('people')}>
      <Tabs value={part} onChange={setPart}>
        <TabList label={t('people')} tabs={tabs} stretch className="mb-4" />
        <TabPanel of="people">{part === 'people' && <PeopleList />}</TabPanel>
        <TabPanel of="audit">{part === 'audit' && <AuditLog />}</TabPanel>
        <TabPanel of="invitations">{part === 'invitations' && <Invitations />}</TabPanel>
      </Tabs>
    </Dialog>
  )
}
