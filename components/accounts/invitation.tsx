'use client'

import { useTranslations } from 'next-intl'
import { type ReactNode, useState } from 'react'
import type { BatchOutcome } from '#components/frame/api-batch.ts'
import { useApprovalMode } from '#components/ui/approval-mode.tsx'
import { Button } from '#components/ui/button.tsx'
import { Dialog } from '#components/ui/dialog.tsx'
import { DialogFooter } from '#components/ui/dialog-footer.tsx'
import { Choice, Select, TextArea } from '#components/ui/field.tsx'
import { OutcomeList } from '#components/ui/outcome-list.tsx'
import { ProgressBar } from '#components/ui/progress.tsx'
import { type Locale, locales, type Role } from '#lib/domains/accounts/rules.ts'
import { maxAddresses, type TypedAddress, typedAddresses } from './typed-addresses.ts'

/** The invited people, with the role and the email language of all of them. */
export interface Invited<R extends Role> {
  addresses: string
  role: R
  locale: Locale
}
/** The part of a `useApiBatch` result that the form needs. */
interface Inviting {
  outcomes: readonly BatchOutcome<TypedAddress>[]
  total: number
  isPending: boolean
  begin: (people: readonly TypedAddress[], done: (outcomes: readonly BatchOutcome<TypedAddress>[]) => void) => void
  reset: () => void
}

/** The outcome for each address, and a way back to those that failed. */
function Results({ inviting, onEdit, onDone }: { inviting: Inviting; onEdit: () => void; onDone: () => void }) {
  const t = useTranslations('invitation')
  const common = useTranslations('common')
  const { outcomes } = inviting
  const sent = outcomes.filter(({ problem }) => problem === undefined).length
  return (
    <div className="grid gap-4">
      <OutcomeList
        title={t('results', { sent, total: outcomes.length })}
        done={t('sent')}
        outcomes={outcomes.map(({ item, problem }) => ({
          key: item.email,
          name: item.email,
          problem,
          reason: problem?.code === 'conflict' ? t('exists') : undefined,
        }))}
      />
      <DialogFooter>
        {sent < outcomes.length && (
          <Button tone="plain" onClick={onEdit}>
            {t('retry')}
          </Button>
        )}
        <Button onClick={onDone}>{common('close')}</Button>
      </DialogFooter>
    </div>
  )
}

interface InvitationFormProps<R extends Role> {
  draft: Invited<R>
  change: (changes: Partial<Invited<R>>) => void
  clear: () => void
  roles: readonly R[]
  inviting: Inviting
  onDone: () => void
  /** Further fields. */
  children?: ReactNode
}
/** Invites up to 50 people at once and shows the outcome for each address. */
export function InvitationForm<R extends Role>({
  draft,
  change,
  clear,
  roles,
  inviting,
  onDone,
  children,
}: InvitationFormProps<R>) {
  const t = useTranslations('invitation')
  const roleNames = useTranslations('roles.names')
  const may = useTranslations('roles.may')
  const textsOf = (role: Role) => ({ title: roleNames(role), text: may(role) })
  const ofApproval = useTranslations('common.approval')
  const isAsking = useApprovalMode() && (draft.role === 'admin' || draft.role === 'auditor')
  const [isTried, setTried] = useState(false)
  const { people, wrong } = typedAddresses(draft.addresses)
  const isTooMany = people.length > maxAddresses
  const fault =
    wrong.length > 0
      ? t('wrong', { lines: wrong.join(', ') })
      : isTooMany
        ? t('tooMany', { most: maxAddresses })
        : undefined
  const isIncomplete = people.length === 0 || fault !== undefined
  if (!inviting.isPending && inviting.outcomes.length > 0)
    return <Results inviting={inviting} onEdit={inviting.reset} onDone={onDone} />
  const send = () => {
    setTried(true)
    if (isIncomplete) return
    inviting.begin(people, (outcomes) => {
      const failed = outcomes.filter(({ problem }) => problem !== undefined).map(({ item }) => item)
      if (failed.length === 0) clear()
      else change({ addresses: failed.map(({ name, email }) => `${name} <${email}>`).join('\n') })
    })
  }
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault()
        send()
      }}
      className="grid gap-5"
    >
      <TextArea
        label={t('addresses')}
        hint={t('addressesHint', { most: maxAddresses })}
        autoComplete="off"
        spellCheck={false}
        required
        value={draft.addresses}
        error={isTried ? fault : undefined}
        onChange={({ target }) => change({ addresses: target.value })}
      />
      <Choice
        label={t('role')}
        name="role"
        value={draft.role}
        onChange={(role) => change({ role })}
        options={roles.map((value) => ({ value, ...textsOf(value) }))}
      />
      <Select
        label={t('locale')}
        value={draft.locale}
        onChange={({ target }) => change({ locale: locales.find((one) => one === target.value) ?? 'en' })}
        options={locales.map((locale) => ({ value: locale, title: t(`locales.${locale}`) }))}
      />
      {children}
      {inviting.isPending && (
        <ProgressBar label={t('addresses')} value={inviting.outcomes.length} max={inviting.total} />
      )}
      <DialogFooter>
        <Button type="submit" aria-disabled={inviting.isPending || isIncomplete}>
          {isAsking ? ofApproval('ask') : t('submit', { count: people.length })}
        </Button>
      </DialogFooter>
    </form>
  )
}

interface InvitationDialogProps {
  /** Label of the button that opens the dialog. */
  open: string
  title: string
  form: (onDone: () => void) => ReactNode
}
/** The button and its dialog. */
export function InvitationDialog({ open, title, form }: InvitationDialogProps) {
  const t = useTranslations('invitation')
  const [isOpen, setOpen] = useState(false)
  return (
    <>
      <Button onClick={() => setOpen(true)}>{open}</Button>
      <Dialog open={isOpen} onOpenChange={setOpen} title={title} lead={<p>{t('lead')}</p>}>
        {form(() => setOpen(false))}
      </Dialog>
    </>
  )
}
