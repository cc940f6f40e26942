'use client'

import { useTranslations } from 'next-intl'
import { type FormEvent, useState } from 'react'
import { useChange } from '#components/frame/asking.ts'
import { useDraft } from '#components/frame/draft.ts'
import { Alert } from '#components/ui/alert.tsx'
import { Button } from '#components/ui/button.tsx'
import { Dialog } from '#components/ui/dialog.tsx'
import { Choice, Field, Select } from '#components/ui/field.tsx'
import { ProblemAlert } from '#components/ui/problem-alert.tsx'
import { locales, memberRoles } from '#lib/domains/accounts/rules.ts'
import { inviteMemberAt, membersAt } from './endpoints.ts'

interface Draft extends Record<string, string> {
  email: string
  name: string
  role: (typeof memberRoles)[number]
  locale: (typeof locales)[number]
}

function InviteForm({ onSent }: { onSent: (name: string) => void }) {
  const t = useTranslations('members')
  const { draft, change, clear } = useDraft<Draft>('invite-member', {
    email: '',
    name: '',
    role: 'person',
    locale: 'en',
  })
  const inviting = useChange(inviteMemberAt, { touches: [membersAt.path] })
  const submit = (event: FormEvent) => {
    event.preventDefault()
    inviting.begin({ body: { ...draft, email: draft.email.trim() } }, () => {
      clear()
      onSent(draft.name)
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
        onChange={({ target }) => change({ email: target.value })}
      />
      <Field
        label={t('invite.nameLabel')}
        autoComplete="off"
        maxLength={200}
        required
        value={draft.name}
        onChange={({ target }) => change({ name: target.value })}
      />
      <Choice
        label={t('invite.role')}
        name="role"
        value={draft.role}
        onChange={(role) => change({ role })}
        options={memberRoles.map((role) => ({ value: role, title: t(`roles.${role}`), text: t(`may.${role}`) }))}
      />
      <Select
        label={t('invite.locale')}
        value={draft.locale}
        onChange={({ target }) => change({ locale: locales.find((one) => one === target.value) ?? 'en' })}
        options={locales.map((locale) => ({ value: locale, title: t(`invite.locales.${locale}`) }))}
      />
      <div className="flex justify-end">
        <Button type="submit" aria-disabled={inviting.isPending}>
          {t('invite.submit')}
        </Button>
      </div>
    </form>
  )
}

/** Invites somebody into the reader's own organisation. */
export function InviteMember({ organisation }: { organisation: string }) {
  const t = useTranslations('members.invite')
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
      <Dialog open={isOpen} onOpenChange={setOpen} title={t('title', { organisation })} lead={<p>{t('lead')}</p>}>
        <InviteForm
          onSent={(name) => {
            setOpen(false)
            setSent(name)
          }}
        />
      </Dialog>
    </>
  )
}
