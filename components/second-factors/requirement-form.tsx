'use client'

import { useNow, useTranslations } from 'next-intl'
import { useState } from 'react'
import { useApiMutation } from '#components/frame/api-query.ts'
import { localTime } from '#components/queue/filing.ts'
import { Alert } from '#components/ui/alert.tsx'
import { Button } from '#components/ui/button.tsx'
import { Confirm } from '#components/ui/confirm.tsx'
import { Choice, Field } from '#components/ui/field.tsx'
import { type FactorRequirement, factorRequirements, maxDaysAhead } from '#lib/domains/accounts/second-factors/rules.ts'
import { changeRequirementAt, type Requirement, requirementAt } from './requirement-endpoints.ts'

interface ChangeProps {
  now: FactorRequirement
  close: () => void
  done: () => void
}

function ChangeRequirement({ now: chosen, close, done }: ChangeProps) {
  const t = useTranslations('security.factors')
  const now = useNow()
  const [who, setWho] = useState(chosen)
  const [from, setFrom] = useState('')
  const change = useApiMutation(changeRequirementAt, { touches: [requirementAt.path] })
  const isOwnMissing = change.problem?.code === 'wrong_state'
  const starts = localTime(from)
  const isTooLate = starts !== undefined && starts.getTime() > now.getTime() + maxDaysAhead * 86_400_000
  return (
    <Confirm
      open
      onOpenChange={(open) => !open && close()}
      title={t('change')}
      consequences={<p>{t('consequences')}</p>}
      action={t('save')}
      needsApproval
      tone="main"
      change={{ ...change, problem: isOwnMissing ? undefined : change.problem }}
      isIncomplete={isTooLate || (from !== '' && !starts)}
      onConfirm={() =>
        change.begin({ body: { required_of: who, ...(starts && { from: starts.toISOString() }) } }, done)
      }
    >
      {isOwnMissing && <Alert tone="danger" title={t('ownFirst')} isLive />}
      <Choice
        label={t('who')}
        name="required-of"
        value={who}
        options={factorRequirements.map((value) => ({ value, title: t(`requirements.${value}`) }))}
        onChange={setWho}
      />
      {who !== 'nobody' && (
        <Field
          label={t('from')}
          hint={t('fromHint')}
          type="datetime-local"
          value={from}
          onChange={(event) => setFrom(event.currentTarget.value)}
          error={isTooLate ? t('fromFault', { days: maxDaysAhead }) : undefined}
          className="max-w-64"
        />
      )}
    </Confirm>
  )
}

/** Opens the dialog that changes who must have a second factor. */
export function ChangeRequirementButton({ requirement, done }: { requirement: Requirement; done: () => void }) {
  const t = useTranslations('security.factors')
  const [isOpen, setOpen] = useState(false)
  const close = () => setOpen(false)
  return (
    <>
      <Button tone="plain" onClick={() => setOpen(true)}>
        {t('change')}
      </Button>
      {isOpen && (
        <ChangeRequirement
          now={requirement.required_of}
          close={close}
          done={() => {
            close()
            done()
          }}
        />
      )}
    </>
  )
}
