'use client'

import { KeyRound, Smartphone } from 'lucide-react'
import { useTranslations } from 'next-intl'
import { useEffect, useRef, useState } from 'react'
import { useApiMutation, useApiQuery } from '#components/frame/api-query.ts'
import { Button } from '#components/ui/button.tsx'
import { Confirm } from '#components/ui/confirm.tsx'
import { ProblemAlert } from '#components/ui/problem-alert.tsx'
import { Time } from '#components/ui/time.tsx'
import { AddApp } from './add-app.tsx'
import { AddPasskey } from './add-passkey.tsx'
import { type Factor, type Factors, factorsAt, removeFactorAt, touchedByFactors } from './endpoints.ts'
import { RecoveryCodes, RenewCodes } from './recovery-codes.tsx'

function FactorRow({ factor, onRemove }: { factor: Factor; onRemove: () => void }) {
  const t = useTranslations('secondFactors')
  const Icon = factor.kind === 'passkey' ? KeyRound : Smartphone
  return (
    <li className="flex flex-wrap items-center gap-x-4 gap-y-2 px-4 py-3">
      <Icon aria-hidden className="size-4.5 shrink-0 text-quiet" />
      <div className="min-w-0 grow basis-56">
        <p className="font-medium wrap-anywhere">{factor.name}</p>
        <p className="text-sm text-quiet">
          {t(`kinds.${factor.kind}`)} · {t.rich('added', { time: () => <Time at={factor.created_at} isDay /> })}
          {factor.last_used_at !== null && (
            <> · {t.rich('used', { time: () => <Time at={factor.last_used_at ?? ''} relative /> })}</>
          )}
        </p>
      </div>
      <Button tone="plain" size="small" aria-label={t('removeNamed', { name: factor.name })} onClick={onRemove}>
        {t('remove')}
      </Button>
    </li>
  )
}

function RemoveFactor({ factor, isLast, onDone }: { factor: Factor | undefined; isLast: boolean; onDone: () => void }) {
  const t = useTranslations('secondFactors')
  const removing = useApiMutation(removeFactorAt, { touches: touchedByFactors })
  return (
    <Confirm
      open={factor !== undefined}
      onOpenChange={(open) => !open && onDone()}
      title={t('removeTitle', { name: factor?.name ?? '' })}
      consequences={<p>{t(isLast ? 'removeLast' : 'removeText')}</p>}
      action={t('remove')}
      change={removing}
      onConfirm={() => factor && removing.begin({ params: { id: factor.factor_id } }, onDone)}
    />
  )
}

/** The second factors of the signed-in person: list, add, remove, and recovery codes. */
export function FactorList({ initial }: { initial: Factors }) {
  const t = useTranslations('secondFactors')
  const query = useApiQuery(factorsAt, {}, { initial: { data: initial } })
  const { factors, recovery_codes: left } = query.data?.data ?? initial
  const [removed, setRemoved] = useState<Factor>()
  const [codes, setCodes] = useState<string[]>()
  const heading = useRef<HTMLParagraphElement>(null)
  // The focused button disappears with its factor.
  useEffect(() => {
    if (removed === undefined && document.activeElement === document.body) heading.current?.focus()
  }, [removed])
  return (
    <div className="grid gap-3">
      {query.problem && <ProblemAlert problem={query.problem} />}
      <p ref={heading} tabIndex={-1} className="text-quiet outline-none">
        {factors.length === 0 ? t('none') : t('protected', { count: factors.length, left })}
      </p>
      {factors.length > 0 && (
        <ul className="divide-y divide-line rounded-box border border-line bg-raised">
          {factors.map((factor) => (
            <FactorRow key={factor.factor_id} factor={factor} onRemove={() => setRemoved(factor)} />
          ))}
        </ul>
      )}
      <div className="flex flex-wrap gap-2">
        <AddPasskey onCodes={setCodes} />
        <AddApp onCodes={setCodes} />
        {factors.length > 0 && <RenewCodes onCodes={setCodes} />}
      </div>
      <RemoveFactor factor={removed} isLast={factors.length === 1} onDone={() => setRemoved(undefined)} />
      <RecoveryCodes codes={codes} onClose={() => setCodes(undefined)} />
    </div>
  )
}
