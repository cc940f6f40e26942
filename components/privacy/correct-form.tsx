'use client'

import { useTranslations } from 'next-intl'
import { type FormEvent, useState } from 'react'
import { useDraft } from '#components/frame/draft.ts'
import { Button } from '#components/ui/button.tsx'
import { Field, Select } from '#components/ui/field.tsx'
import { TextLink } from '#components/ui/text-link.tsx'
import { localeNamed } from '#lib/domains/accounts/rules.ts'
import { FiledNote } from './filed-note.tsx'
import { type FiledRequestAnswer, useFiling } from './filing.ts'
import { type AccountFields, correctionsOf, isWrongAddress, reportedAfter } from './filing-rules.ts'
import { IdentityField, LostFactor, type PasswordIdentity } from './identity-field.tsx'
import { RefusalNote } from './refusal.tsx'

interface FiledCorrection {
  answer: FiledRequestAnswer
  /** The new address, if the correction changes it. */
  email: string | undefined
  /** The correction changes other fields than the address. */
  isMore: boolean
}

/** Corrects name, email address and language of the account. A new address takes effect after its mailbox confirms it. */
export function CorrectForm({ account, identity }: { account: AccountFields; identity: PasswordIdentity }) {
  const t = useTranslations('myPrivacy.correct')
  const [filed, setFiled] = useState<FiledCorrection>()
  if (!identity.hasPassword)
    return <p>{t.rich('noPassword', { link: (words) => <TextLink href="/account/password">{words}</TextLink> })}</p>
  const isAddressAsked = filed !== undefined && reportedAfter(filed.answer) === 'address' && filed.email !== undefined
  return (
    <div className="grid gap-5">
      {filed && (
        <FiledNote
          filed={filed.answer}
          title={isAddressAsked ? t('doneEmail', { email: filed.email ?? '' }) : t('done')}
          text={isAddressAsked && filed.isMore ? t('donePart') : undefined}
        />
      )}
      {/* A saved correction changes the account, and the fields start again with it. The note above stays until the next correction. */}
      <CorrectFields
        key={`${account.name} ${account.email} ${account.locale}`}
        account={account}
        identity={identity}
        onFile={setFiled}
      />
    </div>
  )
}

interface CorrectFieldsProps {
  account: AccountFields
  identity: PasswordIdentity
  /** Called with undefined when a correction is sent, and with the correction when it is filed. */
  onFile(filed: FiledCorrection | undefined): void
}
function CorrectFields({ account, identity, onFile }: CorrectFieldsProps) {
  const t = useTranslations('myPrivacy.correct')
  const common = useTranslations('common')
  const busy = useTranslations('myPrivacy.filed')('busy')
  const { draft, change, clear } = useDraft('privacy.correct', { ...account })
  const filing = useFiling(identity)
  const [fault, setFault] = useState<'name' | 'email' | 'unchanged'>()

  const submit = (event: FormEvent) => {
    event.preventDefault()
    const { changes, fault: found } = correctionsOf(account, draft)
    const isUnchanged = Object.keys(changes).length === 0
    setFault(found ?? (isUnchanged ? 'unchanged' : undefined))
    if (found || isUnchanged) return
    onFile(undefined)
    filing.file({ kinds: ['rectification'], changes }, (answer) => {
      onFile({ answer, email: changes.email, isMore: Object.keys(changes).length > 1 })
      clear()
    })
  }
  const refusedAddress = filing.refusal !== undefined && isWrongAddress(filing.refusal.problem)
  return (
    <form method="post" onSubmit={submit} noValidate className="grid gap-5" aria-label={t('title')}>
      {!refusedAddress && <RefusalNote error={filing.refusal} words="myPrivacy" />}
      <div className="grid gap-5 sm:grid-cols-2">
        <Field
          label={t('name')}
          name="name"
          autoComplete="name"
          maxLength={200}
          value={draft.name}
          error={fault === 'name' ? t('nameMissing') : undefined}
          onChange={({ target }) => change({ name: target.value })}
        />
        <Field
          label={t('email')}
          hint={t('emailHint')}
          name="email"
          type="email"
          autoComplete="email"
          maxLength={320}
          value={draft.email}
          error={fault === 'email' || refusedAddress ? common('faults.email') : undefined}
          onChange={({ target }) => change({ email: target.value })}
        />
        <Select
          label={t('language')}
          name="locale"
          value={draft.locale}
          options={(['en', 'zh'] as const).map((value) => ({ value, title: t(`languages.${value}`) }))}
          onChange={({ target }) => change({ locale: localeNamed(target.value) })}
        />
        <IdentityField {...identity} input={filing.input} fault={filing.fault} />
      </div>
      {filing.isUnconfirmed && <LostFactor email={identity.email} isPending={filing.isPending} onLink={undefined} />}
      <div className="flex flex-wrap items-center gap-4">
        <Button type="submit" aria-disabled={filing.isPending}>
          {filing.isPending ? busy : t('save')}
        </Button>
        <p role="status" className="text-sm text-quiet">
          {fault === 'unchanged' && t('unchanged')}
        </p>
      </div>
    </form>
  )
}
