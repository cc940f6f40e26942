import { app, route } from '#lib/app.ts'

export const GET = route(app.snapshots.listSnapshots)
export const POST = route(app.snapshots.makeSnapshot)
