'use client'

import { useTranslations } from 'next-intl'
import { type FormEvent, useState } from 'react'
import { useAsked, useChange } from '#components/frame/asking.ts'
import { useDraft } from '#components/frame/draft.ts'
import { useFaultWords } from '#components/frame/faults.ts'
import { Alert } from '#components/ui/alert.tsx'
import { Button } from '#components/ui/button.tsx'
import { Dialog } from '#components/ui/dialog.tsx'
import { Choice, Field, Select } from '#components/ui/field.tsx'
import { ProblemAlert } from '#components/ui/problem-alert.tsx'
import { locales, type Role, roles } from '#lib/domains/accounts/rules.ts'
import { inviteUserAt, organisationsAt, usersAt } from './endpoints.ts'

interface Draft extends Record<string, string> {
  email: string
  name: string
  role: Role
  locale: 'en' | 'zh'
  /** Empty: the admin's own; `new`: one that is made. */
  where: string
  organisation: string
}

function InviteForm({ own, onSent }: { own: { id: string; name: string }; onSent: (name: string) => void }) {
  const t = useTranslations('users')
  const { draft, change, clear } = useDraft<Draft>('invite-user', {
    email: '',
    name: '',
    role: 'person',
    locale: 'en',
    where: '',
    organisation: '',
  })
  const inviting = useChange(inviteUserAt, { touches: [usersAt.path, organisationsAt.path] })
  const organisations = useAsked(organisationsAt)
  const others = (organisations.data?.data ?? []).filter(({ organisation_id: id }) => id !== own.id)
  const faultWords = useFaultWords()
  const errorOf = (field: string) => {
    const issue = inviting.problem?.issues?.find(({ path }) => path[0] === field)
    return issue && faultWords(issue.message)
  }
  const submit = (event: FormEvent) => {
    event.preventDefault()
    const { email, name, role, locale, where, organisation } = draft
    const place = where === 'new' ? { new_organisation: organisation } : where === '' ? {} : { organisation_id: where }
    inviting.begin({ body: { email: email.trim(), name, role, locale, ...place } }, () => {
      clear()
      onSent(name)
    })
  }
  return (
    <form onSubmit={submit} className="grid gap-5">
      {inviting.problem && <ProblemAlert problem={inviting.problem} />}
      <Field
        label={t('invite.email')}
        type="email"
        inputMode="email"
        autoComplete="off"
        maxLength={320}
        required
        value={draft.email}
        error={errorOf('email')}
        onChange={({ target }) => change({ email: target.value })}
      />
      <Field
        label={t('invite.nameLabel')}
        autoComplete="off"
        maxLength={200}
        required
        value={draft.name}
        error={errorOf('name')}
        onChange={({ target }) => change({ name: target.value })}
      />
      <Choice
        label={t('invite.role')}
        name="role"
        value={draft.role}
        onChange={(role) => change({ role })}
        options={roles.map((role) => ({ value: role, title: t(`roles.${role}`), text: t(`may.${role}`) }))}
      />
      <div className="grid gap-4 sm:grid-cols-2">
        <Select
          label={t('invite.where')}
          value={draft.where}
          onChange={({ target }) => change({ where: target.value })}
          options={[
            { value: '', title: t('invite.own', { name: own.name }) },
            ...others.map(({ organisation_id: value, name: title }) => ({ value, title })),
            { value: 'new', title: t('invite.new') },
          ]}
        />
        <Select
          label={t('invite.locale')}
          value={draft.locale}
          onChange={({ target }) => change({ locale: locales.find((one) => one === target.value) ?? 'en' })}
          options={locales.map((locale) => ({ value: locale, title: t(`invite.locales.${locale}`) }))}
        />
      </div>
      {draft.where === 'new' && (
        <Field
          label={t('invite.newName')}
          autoComplete="off"
          maxLength={200}
          required
          value={draft.organisation}
          error={errorOf('new_organisation')}
          onChange={({ target }) => change({ organisation: target.value })}
        />
      )}
      <div className="flex justify-end">
        <Button type="submit" aria-disabled={inviting.isPending}>
          {t('invite.submit')}
        </Button>
      </div>
    </form>
  )
}

/** Invites somebody into any organisation. `own` is the admin's. */
export function InviteUser({ own }: { own: { id: string; name: string } }) {
  const t = useTranslations('users.invite')
  const [isOpen, setOpen] = useState(false)
  const [sent, setSent] = useState<string>()
  return (
    <>
      <div>
        <Button
          onClick={() => {
            setSent(undefined)
            setOpen(true)
          }}
        >
          {t('open')}
        </Button>
      </div>
      {sent !== undefined && (
        <Alert tone="done" title={t('sent', { name: sent })} isLive>
          <p>{t('sentText')}</p>
        </Alert>
      )}
      <Dialog open={isOpen} onOpenChange={setOpen} title={t('title')} lead={<p>{t('lead')}</p>}>
        <InviteForm
          own={own}
          onSent={(name) => {
            setOpen(false)
            setSent(name)
          }}
        />
      </Dialog>
    </>
  )
}
