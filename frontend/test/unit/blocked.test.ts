import { expect, it } from 'vitest'
import { blockedBy } from '@/features/chat/blocked'
import type { Effective } from '@/features/model/choice'
import { t } from '@/lib/i18n'

const FREE = { offline: false, noModel: false, answers: undefined, pictures: false }
const done: string[] = []
const remedies = { connect: () => void done.push('connect'), useDefault: () => void done.push('default') }
const blocked = (over: Partial<Parameters<typeof blockedBy>[0]>) =>
  blockedBy({ ...FREE, ...over }, remedies, t)

it('a message can be sent if nothing is wrong, even while the models are loading', () => {
  expect(blocked({})).toBeNull()
  expect(blocked({ pictures: true })).toBeNull()
})

it('the first thing that is wrong is said, with what helps', () => {
  const gone: Effective = { kind: 'gone', id: 'old' }
  expect(blocked({ offline: true, noModel: true })).toEqual({ reason: t('cannotSendOffline') })
  const none = blocked({ noModel: true, answers: gone })
  expect(none?.reason).toBe(t('cannotSendModel'))
  const old = blocked({ answers: gone })
  expect(old?.reason).toBe(t('cannotSendGone', { name: 'old' }))
  none?.remedy?.run()
  old?.remedy?.run()
  expect(done).toEqual(['connect', 'default'])
})

it('pictures need a model that sees them', () => {
  const chosen = (vision: boolean) =>
    ({ kind: 'chosen', candidate: { label: 'm', vision } }) as unknown as Effective
  expect(blocked({ answers: chosen(false), pictures: true })?.reason).toBe(
    t('cannotSendPictures', { name: 'm' }),
  )
  expect(blocked({ answers: chosen(true), pictures: true })).toBeNull()
  expect(blocked({ answers: chosen(false) })).toBeNull()
})
