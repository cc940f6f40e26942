import { app, route } from '#lib/app-instance.ts'

export const GET = route(app.snapshots.readState)
export const PUT = route(app.snapshots.storeState)
export const DELETE = route(app.snapshots.deleteState)
