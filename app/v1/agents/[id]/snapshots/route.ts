import { app, route } from '#lib/app-instance.ts'

export const GET = route(app.snapshots.listSnapshots)
export const POST = route(app.snapshots.makeSnapshot)
