import { app, route } from '#lib/app-instance.ts'

export const GET = route(app.holds.list)
export const POST = route(app.holds.create)
