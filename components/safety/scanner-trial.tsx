'use client'

import { useTranslations } from 'next-intl'
import { useState } from 'react'
import { useApiMutation } from '#components/frame/api-query.ts'
import { Alert } from '#components/ui/alert.tsx'
import { Badge } from '#components/ui/badge.tsx'
import { Checkbox, TextArea } from '#components/ui/field.tsx'
import { FormBox } from '#components/ui/form-box.tsx'
import { MarkedText } from '#components/ui/marked-text.tsx'
import { ProblemAlert } from '#components/ui/problem-alert.tsx'
import { type ScanResult, scanAt } from './endpoints.ts'
import { findingCountsOf, scanResultOf } from './findings.ts'

/** The scanner accepts this many UTF-16 units. */
const maxUnits = 100_000
const tones = { nothing: 'done', blocked: 'danger', redacted: 'warning' } as const

function Result({ text, result }: { text: string; result: ScanResult }) {
  const t = useTranslations('safety.scanner.try')
  const common = useTranslations('common')
  const kindName = useTranslations('sensitiveKinds')
  const { findings, degraded } = result
  const { says, count } = scanResultOf(findings)
  return (
    <div className="grid gap-4" data-result={says}>
      <Alert tone={tones[says]} title={t(says, { count })} isLive>
        <p>{t(`${says}Text`)}</p>
      </Alert>
      {degraded !== undefined && degraded.length > 0 && (
        <Alert tone="warning" title={t('degradedTitle')} isLive>
          <p>{t('degraded')}</p>
        </Alert>
      )}
      {findings.length > 0 && (
        <>
          <ul aria-label={t('result')} className="flex flex-wrap gap-2">
            {findingCountsOf(findings).map(({ kind, action, count: n }) => (
              <li key={kind}>
                <Badge tone={action === 'block' ? 'danger' : 'warning'}>
                  {common('nameCount', { name: kindName(kind), count: n })}
                </Badge>
              </li>
            ))}
          </ul>
          <MarkedText
            text={text}
            label={t('marked')}
            spans={findings.map(({ kind, action, start, end }) => ({
              start,
              end,
              tone: action === 'block' ? 'red' : 'amber',
              note: kindName(kind),
            }))}
          />
        </>
      )}
    </div>
  )
}

/** Scans a text of the reader and shows the findings. The text is stored nowhere: neither as a draft nor on the server. */
export function ScannerTrial({ isAnalyzed }: { isAnalyzed: boolean }) {
  const t = useTranslations('safety.scanner.try')
  const common = useTranslations('common')
  const [text, setText] = useState('')
  const [strategy, setStrategy] = useState(false)
  const [isMissing, setMissing] = useState(false)
  const [seen, setSeen] = useState<{ text: string; result: ScanResult }>()
  const scan = useApiMutation(scanAt, { isQuiet: true })
  const isTooLong = text.length > maxUnits
  const submit = () => {
    setMissing(text === '')
    if (text === '' || isTooLong) return
    scan.begin({ body: { text, strategy } }, ({ data }) => setSeen({ text, result: data }))
  }
  const error = isTooLong ? t('tooLong', { most: maxUnits }) : isMissing && text === '' ? t('empty') : undefined
  return (
    <div className="grid gap-4">
      <p className="text-quiet">{t('lead', { names: isAnalyzed ? 'yes' : 'no' })}</p>
      <FormBox
        name="scan"
        submit={scan.isPending ? common('busy') : t('submit')}
        isPending={scan.isPending}
        onSubmit={submit}
      >
        {scan.problem && <ProblemAlert problem={scan.problem} />}
        <TextArea
          label={t('text')}
          value={text}
          onChange={({ target }) => setText(target.value)}
          error={error}
          dir="auto"
          // A browser may send text to its vendor to check the spelling.
          spellCheck={false}
          autoComplete="off"
        />
        <Checkbox
          label={t('strategy')}
          hint={t('strategyHint')}
          checked={strategy}
          onChange={({ target }) => setStrategy(target.checked)}
        />
      </FormBox>
      {seen && <Result {...seen} />}
    </div>
  )
}
