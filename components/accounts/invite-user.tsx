'use client'

import { useTranslations } from 'next-intl'
import { useApiMutation, useApiQuery } from '#components/frame/api-query.ts'
import { useDraft } from '#components/frame/draft.ts'
import { Field, Select } from '#components/ui/field.tsx'
import { type Role, roles } from '#lib/domains/accounts/rules.ts'
import { inviteUserAt, organisationsAt, usersAt } from './endpoints.ts'
import { InvitationDialog, InvitationForm, type Invited, useErrorOf } from './invitation.tsx'

interface Draft extends Invited<Role>, Record<string, string> {
  /** Organization: empty for the admin's own, `new` to create one. */
  where: string
  organisation: string
}
const empty: Draft = { email: '', name: '', role: 'person', locale: 'en', where: '', organisation: '' }

interface Own {
  id: string
  name: string
}

function UserForm({ own, onSent }: { own: Own; onSent: (name: string) => void }) {
  const t = useTranslations('users.invite')
  const { draft, change, clear } = useDraft<Draft>('invite-user', empty)
  const inviting = useApiMutation(inviteUserAt, { touches: [usersAt.path, organisationsAt.path] })
  const errorOf = useErrorOf(inviting.problem)
  const organisations = useApiQuery(organisationsAt)
  const others = (organisations.data?.data ?? []).filter(({ organisation_id: id }) => id !== own.id)
  const send = () => {
    const { email, name, role, locale, where, organisation } = draft
    const place = where === 'new' ? { new_organisation: organisation } : where === '' ? {} : { organisation_id: where }
    inviting.begin({ body: { email: email.trim(), name, role, locale, ...place } }, () => {
      clear()
      onSent(name)
    })
  }
  return (
    <InvitationForm draft={draft} change={change} roles={roles} inviting={inviting} onSubmit={send}>
      <Select
        label={t('where')}
        value={draft.where}
        onChange={({ target }) => change({ where: target.value })}
        options={[
          { value: '', title: t('own', { name: own.name }) },
          ...others.map(({ organisation_id: value, name: title }) => ({ value, title })),
          { value: 'new', title: t('new') },
        ]}
      />
      {draft.where === 'new' && (
        <Field
          label={t('newName')}
          autoComplete="off"
          maxLength={200}
          required
          value={draft.organisation}
          error={errorOf('new_organisation')}
          onChange={({ target }) => change({ organisation: target.value })}
        />
      )}
    </InvitationForm>
  )
}

/** Invites a person to any organization. `own` is the organization of the admin. */
export function InviteUser({ own }: { own: Own }) {
  const t = useTranslations('users.invite')
  return (
    <InvitationDialog
      open={t('open')}
      title={t('title')}
      sentText={t('sentText')}
      form={(onSent) => <UserForm own={own} onSent={onSent} />}
    />
  )
}
