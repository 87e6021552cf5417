import { CalendarClock, ChevronDown, Globe } from 'lucide-react';
import { useMemo, useRef, useState } from 'react';
import { useClock } from '../../shell/clock';
import { setPrefs } from '../../shell/prefs';
import { useKeys } from '../../shell/keys';
import { now, parseTime, PRESETS, printIso, showRange, showTime, zoneLabel, zoneName } from '../../url/time';
import { Button } from '../button/button';
import { Popover } from '../dialog/popover';
import css from './range.module.css';

export function RangePicker() {
  const clock = useClock();
  const [open, setOpen] = useState(false);
  const button = useRef<HTMLButtonElement>(null);
  useKeys('Everywhere', { t: { about: 'Choose the range of time', run: () => setOpen(true) } });
  return (
    <>
      <Button ref={button} icon={CalendarClock} aria-label={`Range of time: ${showRange(clock.range, clock.zone)}`} onPress={() => setOpen(true)}>
        {showRange(clock.range, clock.zone)} <ChevronDown size={12} aria-hidden />
      </Button>
      <Popover label="Range of time" triggerRef={button} isOpen={open} onOpenChange={setOpen}>
        {open && <RangeForm close={() => setOpen(false)} />}
      </Popover>
    </>
  );
}

function RangeForm({ close }: { close: () => void }) {
  const { range, from, to, zone, setRange } = useClock();
  const [low, setLow] = useState(() => showTime(from, zone, 'second'));
  const [high, setHigh] = useState(() => ('last' in range ? 'now' : showTime(to, zone, 'second')));
  const at = now();
  const begin = parseTime(low, zone, at);
  const end = parseTime(high, zone, at);
  const wrong = begin === undefined ? 'From: a time, such as -90m, 2026-11-28 14:00 or an epoch' : end === undefined ? 'To: a time, such as now or 2026-11-28 14:00' : begin >= end ? 'The range ends before it begins' : '';
  return (
    <form className={css['range']} onSubmit={(event) => {
      event.preventDefault();
      if (begin === undefined || end === undefined || wrong) return;
      setRange({ from: begin, to: end });
      close();
    }}>
      <div className={css['presets']} role="group" aria-label="Ranges that move with the clock">
        {PRESETS.map((p) => (
          <button key={p} type="button" aria-pressed={'last' in range && range.last === p} onClick={() => { setRange({ last: p }); close(); }}>
            {showRange({ last: p }, zone)}
          </button>
        ))}
      </div>
      <div className={css['fields']}>
        <label>From<input autoFocus value={low} onChange={(e) => setLow(e.target.value)} spellCheck={false} aria-invalid={begin === undefined} /></label>
        <label>To<input value={high} onChange={(e) => setHigh(e.target.value)} spellCheck={false} aria-invalid={end === undefined} /></label>
        <p className={css['hint']} role={wrong ? 'alert' : undefined} data-bad={wrong ? true : undefined}>
          {wrong || (begin !== undefined && end !== undefined ? `${printIso(begin)} to ${printIso(end)}` : '')}
        </p>
        <p className={css['hint']}>Times are of {zoneLabel(zone, at)}. -90m, now, and epochs are understood.</p>
        <Button look="accent" type="submit" isDisabled={wrong !== ''}>Show this range</Button>
      </div>
    </form>
  );
}

export function ZonePicker() {
  const { zone, setZone, from } = useClock();
  const [open, setOpen] = useState(false);
  const [search, setSearch] = useState('');
  const button = useRef<HTMLButtonElement>(null);
  const zones = useMemo(() => ['local', 'UTC', ...Intl.supportedValuesOf('timeZone').filter((z) => z !== 'UTC')], []);
  const found = zones.filter((z) => zoneName(z).toLowerCase().replaceAll('_', ' ').includes(search.toLowerCase())).slice(0, 60);
  const choose = (z: string) => {
    setPrefs({ zone: z });
    setZone(z === 'local' ? '' : z);
    setOpen(false);
  };
  return (
    <>
      <Button ref={button} look="quiet" icon={Globe} aria-label={`Zone: ${zoneLabel(zone, from)}`} onPress={() => { setSearch(''); setOpen(true); }}>
        {zoneLabel(zone, from)}
      </Button>
      <Popover label="Zone of all times" triggerRef={button} isOpen={open} onOpenChange={setOpen}>
        <div className={css['zones']}>
          <input autoFocus aria-label="Find a zone" placeholder="Find a zone" value={search} onChange={(e) => setSearch(e.target.value)} onKeyDown={(e) => { if (e.key === 'Enter' && found[0]) choose(found[0]); }} />
          <ul>
            {found.map((z) => (
              <li key={z}><button type="button" aria-pressed={z === zone} onClick={() => choose(z)}>{z === 'local' ? 'This browser' : z.replaceAll('_', ' ')}<span>{zoneLabel(z, from)}</span></button></li>
            ))}
          </ul>
        </div>
      </Popover>
    </>
  );
}
