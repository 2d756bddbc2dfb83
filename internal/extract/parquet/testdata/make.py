"""Makes the files of this folder: pip install pyarrow==26.0.1; python3 make.py"""

import datetime as d
import decimal
import pyarrow as pa
import pyarrow.parquet as pq

PLAIN = dict(store_schema=False, write_statistics=False, use_dictionary=False)


def decimals(*texts):
    return [None if t is None else decimal.Decimal(t) for t in texts]


pq.write_table(pa.table({
    'Größe': pa.array([1.5, None, -1e-9], pa.float64()),
    'ok': pa.array([True, None, False]),
    'byte': pa.array([-128, None, 127], pa.int8()),
    'big': pa.array([-2**63, None, 2**63 - 1], pa.int64()),
    'u32': pa.array([0, None, 2**32 - 1], pa.uint32()),
    'u64': pa.array([0, None, 2**64 - 1], pa.uint64()),
    'half': pa.array([0.5, None, -65504], pa.float16()),
    'single': pa.array([0.1, None, float('nan')], pa.float32()),
    'price': pa.array(decimals('-0.05', None, '12345.60'), pa.decimal128(20, 2)),
    'whole': pa.array(decimals('7', None, '-7'), pa.decimal256(50, 0)),
    'day': pa.array([d.date(1890, 1, 1), None, d.date(2024, 2, 29)]),
    'hour': pa.array([d.time(9, 5), None, d.time(23, 59, 59, 999)], pa.time64('us')),
    'local': pa.array([0, None, 1_700_000_000_123], pa.timestamp('ms')),
    'utc': pa.array([-1, None, 1_700_000_000_000_001], pa.timestamp('us', 'UTC')),
    'text': pa.array(['two\nlines', None, 'Köln']),
    'picture': pa.array([b'\x89PNG\r\n\x1a\n', None, b'as text'], pa.binary()),
    'none': pa.nulls(3),
    '__index_level_0__': pa.array(['x', 'y', 'z']),
}), 'types.parquet', compression='none', **PLAIN)

pq.write_table(pa.table({
    'tags': pa.array([['a', None, 'b'], [], None, ['c']], pa.list_(pa.string())),
    'grid': pa.array([[[1, 2], []], [[3]], None, []], pa.list_(pa.list_(pa.int32()))),
    'at': pa.array([{'x': 1, 'in': {'y': 'deep'}}, {'x': None, 'in': None}, None, {'x': 4, 'in': {'y': None}}],
                   pa.struct([('x', pa.int32()), ('in', pa.struct([('y', pa.string())]))])),
    'items': pa.array([[{'name': 'n', 'n': 1}, {'name': 'm', 'n': None}], None, [], [{'name': 'o', 'n': 3}]],
                      pa.list_(pa.struct([('name', pa.string()), ('n', pa.int64())]))),
    'map': pa.array([[('k', 1), ('l', 2)], None, [], [('m', None)]], pa.map_(pa.string(), pa.int64())),
}), 'nested.parquet', compression='none', **PLAIN)

rows = pa.table({
    'n': pa.array([None if i % 7 == 3 else i * i - 500 for i in range(60)], pa.int64()),
    'small': pa.array([i // 9 for i in range(60)], pa.int32()),
    'word': pa.array([None if i % 5 == 4 else 'word %02d' % (i // 3) for i in range(60)]),
    'part': pa.array(['part-%03d' % i for i in range(60)]),
    'real': pa.array([i / 4 for i in range(60)], pa.float64()),
    'ok': pa.array([i % 3 == 0 for i in range(60)]),
})
for codec in ['none', 'snappy', 'gzip', 'brotli', 'zstd', 'lz4']:
    for version in ['1.0', '2.0']:
        pq.write_table(rows, f'{codec}{version[0]}.parquet', compression=codec, data_page_version=version, store_schema=False,
                       write_statistics=False, data_page_size=100, write_batch_size=20, row_group_size=40, use_dictionary=['word'])
pq.write_table(rows, 'encodings.parquet', compression='none', data_page_version='2.0', column_encoding={
    'n': 'DELTA_BINARY_PACKED', 'small': 'DELTA_BINARY_PACKED', 'word': 'DELTA_LENGTH_BYTE_ARRAY', 'part': 'DELTA_BYTE_ARRAY', 'real': 'BYTE_STREAM_SPLIT',
    'ok': 'RLE'}, **PLAIN)
