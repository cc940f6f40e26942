import type { Metadata } from 'next'
import { getTranslations } from 'next-intl/server'
import { callUseCase, requirePageAccess } from '#app/page-access.ts'
import { MonthlyReport } from '#components/console/monthly-report.tsx'
import { Messages } from '#components/frame/words.tsx'
import { app } from '#lib/app-instance.ts'
import { lastCompleteMonth, monthPeriod } from '#lib/domains/console/rules.ts'

export const generateMetadata = async (): Promise<Metadata> => ({ title: (await getTranslations('report'))('name') })

interface Props {
  searchParams: Promise<Record<string, string | string[] | undefined>>
}
export default async function ReportPage({ searchParams }: Props) {
  await requirePageAccess('report')
  const { month } = await searchParams
  const now = new Date()
  // An address with another month shows the last complete one.
  const isMonth = typeof month === 'string' && /^20\d\d-(0[1-9]|1[0-2])$/.test(month) && monthPeriod(month, now)
  const asked = typeof month === 'string' && isMonth ? month : lastCompleteMonth(now)
  const { data } = await callUseCase(app.console.report, { query: { month: asked } })
  return (
    <Messages of={['report']}>
      <MonthlyReport report={data} />
    </Messages>
  )
}
