import { getTranslations } from 'next-intl/server'
import { callUseCase } from '#app/page-access.ts'
import { ActivityCard } from '#components/console/dashboard/activity-card.tsx'
import { ControlsCard } from '#components/console/dashboard/controls-card.tsx'
import { DeadlinesCard } from '#components/console/dashboard/deadlines-card.tsx'
import { SetupCard } from '#components/console/dashboard/setup-card.tsx'
import { SinceCard } from '#components/console/dashboard/since-card.tsx'
import { StoreStatesCard } from '#components/console/dashboard/store-states-card.tsx'
import { TrendCard } from '#components/console/dashboard/trend-card.tsx'
import { WaitingTiles } from '#components/console/dashboard/waiting-tiles.tsx'
import { dataNamesIn } from '#components/stores/data-names.ts'
import { shownLocationNames } from '#components/stores/locations.ts'
import { app } from '#lib/app-instance.ts'
import { evidenceLines } from '#lib/kernel/evidence.ts'

/** The overview of an admin or auditor: what waits, what fails, and what changed. */
export async function AdminDashboard({ isAdmin }: { isAdmin: boolean }) {
  const [compliance, stores, names, { data: waiting }, { data: dashboard }, deadlines] = await Promise.all([
    getTranslations('compliance'),
    getTranslations('stores'),
    getTranslations('dataNames').then(dataNamesIn),
    callUseCase(app.console.waiting),
    callUseCase(app.console.dashboard),
    isAdmin ? callUseCase(app.requests.listAll, { query: { open: 'true', limit: '10' } }) : undefined,
  ])
  const { trend, since, setup, activity } = dashboard
  return (
    <div className="grid gap-6">
      <WaitingTiles waiting={waiting} />
      <div className="grid grid-cols-[minmax(0,1fr)] items-start gap-6 lg:grid-cols-2">
        <div className="grid min-w-0 gap-6">
          {deadlines && <DeadlinesCard requests={deadlines.data.filter(({ due }) => due !== 'stopped').slice(0, 5)} />}
          <ControlsCard
            titles={titlesOf(evidenceLines, (line) => compliance(`lines.${line}.title`))}
            states={titlesOf(['fails', 'attention', 'unknown'] as const, (state) => compliance(`states.${state}`))}
          />
          <SetupCard setup={setup} mayManage={isAdmin} />
          {since && since.received + since.closed + since.receipts > 0 && <SinceCard since={since} />}
        </div>
        <div className="grid min-w-0 gap-6">
          {trend && <TrendCard trend={trend} />}
          <StoreStatesCard
            names={titlesOf(shownLocationNames, names.place)}
            states={titlesOf(['ok', 'degraded', 'down', 'unchecked', 'off'] as const, (state) =>
              stores(`states.${state}`),
            )}
          />
          <ActivityCard activity={activity} role={isAdmin ? 'admin' : 'auditor'} />
        </div>
      </div>
    </div>
  )
}

const titlesOf = <Name extends string>(names: readonly Name[], titleOf: (name: Name) => string): Record<Name, string> =>
  Object.fromEntries(names.map((name) => [name, titleOf(name)])) as Record<Name, string>
