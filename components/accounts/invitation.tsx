'use client'

import { useTranslations } from 'next-intl'
import { type ReactNode, useState } from 'react'
import { useFaultWords } from '#components/frame/faults.ts'
import { Alert } from '#components/ui/alert.tsx'
import { Button } from '#components/ui/button.tsx'
import { Dialog } from '#components/ui/dialog.tsx'
import { Choice, Field, Select } from '#components/ui/field.tsx'
import { ProblemAlert } from '#components/ui/problem-alert.tsx'
import type { ProblemDocument } from '#lib/client/request.ts'
import { type Locale, locales, type Role } from '#lib/domains/accounts/rules.ts'

/** The invited person. */
export interface Invited<R extends Role> {
  email: string
  name: string
  role: R
  locale: Locale
}

/** The validation message of a field, in the reader's language. */
export function useErrorOf(problem: ProblemDocument | undefined): (field: string) => string | undefined {
  const faultWords = useFaultWords()
  return (field) => {
    const issue = problem?.issues?.find(({ path }) => path[0] === field)
    return issue && faultWords(issue.message)
  }
}

interface InvitationFormProps<R extends Role> {
  draft: Invited<R>
  change: (changes: Partial<Invited<R>>) => void
  roles: readonly R[]
  /** The state of the mutation that sends the invitation. */
  inviting: { isPending: boolean; problem: ProblemDocument | undefined }
  onSubmit: () => void
  /** Further fields. */
  children?: ReactNode
}
export function InvitationForm<R extends Role>({
  draft,
  change,
  roles,
  inviting,
  onSubmit,
  children,
}: InvitationFormProps<R>) {
  const t = useTranslations('invitation')
  const errorOf = useErrorOf(inviting.problem)
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault()
        onSubmit()
      }}
      className="grid gap-5"
    >
      {inviting.problem && <ProblemAlert problem={inviting.problem} />}
      <Field
        label={t('email')}
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
        label={t('nameLabel')}
        autoComplete="off"
        maxLength={200}
        required
        value={draft.name}
        error={errorOf('name')}
        onChange={({ target }) => change({ name: target.value })}
      />
      <Choice
        label={t('role')}
        name="role"
        value={draft.role}
        onChange={(role) => change({ role })}
        options={roles.map((value) => {
          const role: Role = value
          return { value, title: t(`roles.${role}`), text: t(`may.${role}`) }
        })}
      />
      <Select
        label={t('locale')}
        value={draft.locale}
        onChange={({ target }) => change({ locale: locales.find((one) => one === target.value) ?? 'en' })}
        options={locales.map((locale) => ({ value: locale, title: t(`locales.${locale}`) }))}
      />
      {children}
      <div className="flex justify-end">
        <Button type="submit" aria-disabled={inviting.isPending}>
          {t('submit')}
        </Button>
      </div>
    </form>
  )
}

interface InvitationDialogProps {
  /** Label of the button that opens the dialog. */
  open: string
  title: string
  /** Where the email is, or what to do if it does not arrive. */
  sentText: string
  form: (onSent: (name: string) => void) => ReactNode
}
/** The button, its dialog, and the confirmation after sending. */
export function InvitationDialog({ open, title, sentText, form }: InvitationDialogProps) {
  const t = useTranslations('invitation')
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
          {open}
        </Button>
      </div>
      {sent !== undefined && (
        <Alert tone="done" title={t('sent', { name: sent })} isLive>
          <p>{sentText}</p>
        </Alert>
      )}
      <Dialog open={isOpen} onOpenChange={setOpen} title={title} lead={<p>{t('lead')}</p>}>
        {form((name) => {
          setOpen(false)
          setSent(name)
        })}
      </Dialog>
    </>
  )
}
