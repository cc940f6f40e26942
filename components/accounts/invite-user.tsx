'use client'

import { useTranslations } from 'next-intl'
import { useApiBatch } from '#components/frame/api-batch.ts'
import { useApiQuery } from '#components/frame/api-query.ts'
import { useDraft } from '#components/frame/draft.ts'
import { Field, Select } from '#components/ui/field.tsx'
import { type Role, roles } from '#lib/domains/accounts/rules.ts'
import { inviteUserAt, organisationsAt, usersAt } from './endpoints.ts'
import { InvitationDialog, InvitationForm, type Invited } from './invitation.tsx'
import type { TypedAddress } from './typed-addresses.ts'

interface Draft extends Invited<Role>, Record<string, string> {
  /** Organization: empty for the admin's own, `new` to create one. */
  where: string
  organisation: string
}
const empty: Draft = { addresses: '', role: 'person', locale: 'en', where: '', organisation: '' }

interface Own {
  id: string
  name: string
}

function UserForm({ own, onDone }: { own: Own; onDone: () => void }) {
  const t = useTranslations('users.invite')
  const { draft, change, clear } = useDraft<Draft>('invite-user', empty)
  const organisations = useApiQuery(organisationsAt)
  const others = (organisations.data?.data ?? []).filter(({ organisation_id: id }) => id !== own.id)
  const { role, locale, where, organisation } = draft
  const inviting = useApiBatch(
    inviteUserAt,
    (person: TypedAddress, last) => {
      // The first invitation creates the organization; the others join it.
      const made = last?.data.organisation.name === organisation ? last.data.organisation.organisation_id : undefined
      const chosen = where === 'new' ? made : where || undefined
      const place = chosen === undefined && where === 'new' ? { new_organisation: organisation } : {}
      return { body: { ...person, role, locale, ...place, ...(chosen !== undefined && { organisation_id: chosen }) } }
    },
    { touches: [usersAt.path, organisationsAt.path] },
  )
  return (
    <InvitationForm draft={draft} change={change} clear={clear} roles={roles} inviting={inviting} onDone={onDone}>
      <Select
        label={t('where')}
        value={where}
        onChange={({ target }) => change({ where: target.value })}
        options={[
          { value: '', title: t('own', { name: own.name }) },
          ...others.map(({ organisation_id: value, name: title }) => ({ value, title })),
          { value: 'new', title: t('new') },
        ]}
      />
      {where === 'new' && (
        <Field
          label={t('newName')}
          autoComplete="off"
          maxLength={200}
          required
          value={organisation}
          onChange={({ target }) => change({ organisation: target.value })}
        />
      )}
    </InvitationForm>
  )
}

/** Invites people to any organization. `own` is the organization of the admin. */
export function InviteUser({ own }: { own: Own }) {
  const t = useTranslations('users.invite')
  return (
    <InvitationDialog open={t('open')} title={t('title')} form={(onDone) => <UserForm own={own} onDone={onDone} />} />
  )
}
