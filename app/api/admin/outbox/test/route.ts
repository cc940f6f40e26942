import { app, route } from '#lib/app-instance.ts'

export const POST = route(app.outbox.sendTest)
